"""Headers of styles and scripts, which WhiteNoise serves."""

from wsgiref.headers import Headers


def add_headers(headers: Headers, path: str, url: str) -> None:
    """Prevents HTML files in packages from running scripts; WhiteNoise calls it for each file."""
    headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
