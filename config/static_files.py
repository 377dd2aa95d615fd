"""Styles and scripts: collected into STATIC_ROOT, compressed, with a hash in each name."""

import os
from pathlib import Path
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

MANIFEST = "staticfiles.json"  # which file has which hash


def are_collected() -> bool:
    return (Path(settings.STATIC_ROOT) / MANIFEST).exists()


def collect() -> None:
    """Runs `collectstatic`, on a laptop or for the tests, if a file has changed since then."""
    if are_collected():
        written = (Path(settings.STATIC_ROOT) / MANIFEST).stat().st_mtime
        sources = (
            storage.path(path) for finder in get_finders() for path, storage in finder.list([])
        )
        if max(map(os.path.getmtime, sources)) < written:
            return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)


def add_headers(headers: Headers, path: str, url: str) -> None:
    """Prevents HTML files in packages from running scripts; WhiteNoise calls it for each file."""
    headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
