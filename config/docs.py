"""GET /api/docs: one screen to begin with, then the interactive reference; no key needed."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apikeys.throttling import REQUESTS_PER_MINUTE
from config.error_answers import as_response
from config.errors import MethodNotAllowed
from documents.parameters import LIMIT_MAX

# Scripts and styles are files of this server, and only this server is asked: a key that is tried
# in the page cannot be sent elsewhere.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page(request: HttpRequest) -> HttpResponse:
    """The page. Its commands name the address that it was called by."""
    if request.method not in ("GET", "HEAD"):
        return as_response(MethodNotAllowed())
    facts = {
        "base": request.build_absolute_uri("/").rstrip("/"),
        "limit": LIMIT_MAX,
        "rate": REQUESTS_PER_MINUTE,
    }
    response = render(request, "docs.html", facts)
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response
