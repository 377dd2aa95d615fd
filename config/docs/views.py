from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from config.docs import client
from config.docs.pages import PAGES, Page, context_of
from config.docs.search import search

# Scripts and styles are this server's own, and requests go to this server only: a key that is
# entered in a page cannot be sent elsewhere.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
NUMBERS = {page.path: number for number, page in enumerate(PAGES)}


@require_safe
def page(request: HttpRequest, path: str = "") -> HttpResponse:
    """A page of the documentation. Its commands have the address that it was requested with."""
    if path not in NUMBERS:
        words = path.replace("/", " ")[:100]
        return show(request, NOT_FOUND, 404, found=search(words), missing=True)
    following = PAGES[NUMBERS[path] + 1 :]
    return show(request, PAGES[NUMBERS[path]], next=next(iter(following), None))


@require_safe
def find(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "")[:100]
    return show(request, SEARCH, found=search(text), text=text)


@require_safe
def client_archive(request: HttpRequest) -> HttpResponse:
    return HttpResponse(client.archive(), content_type="application/gzip")


SEARCH = Page("find", "Search the documentation", "docs/find.html")
NOT_FOUND = Page("404", "Page not found", "docs/find.html")


def show(request: HttpRequest, page: Page, status: int = 200, **more: Any) -> HttpResponse:
    context = context_of(page, request.build_absolute_uri("/").rstrip("/")) | more
    response = render(request, page.template, context, status=status)
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response
