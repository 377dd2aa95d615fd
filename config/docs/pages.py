"""The pages of the documentation."""

import re
from typing import Any, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from config.api.errors import MethodNotAllowed
from config.api.exceptions import error_response
from config.api.openapi import DOCUMENT
from config.api.parameters import LIMIT_MAX, REQUESTS_PER_MINUTE
from config.docs.reference import fields, operations

# Scripts and styles are this server's own, and requests go to this server only: a key that is
# entered in a page cannot be sent elsewhere.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The titles of the guide's pages by path, in the order in which somebody needs them.
GUIDE = {
    "First steps": {"": "Start", "authentication": "Authentication"},
    "Read documents": {
        "pages": "Pages",
        "search": "Search",
        "downloads": "Downloads",
        "events": "Events",
        "webhooks": "Webhooks",
    },
    "Rely on it": {
        "errors": "Errors",
        "limits": "Rate limit",
        "versions": "Versions",
        "times": "Times and time zones",
        "sizes": "Sizes and time-outs",
        "states": "States",
        "testing": "Testing",
        "recipes": "Recipes",
        "changelog": "Changelog",
    },
}


class Page(NamedTuple):
    path: str  # after /api/docs/
    title: str
    template: str
    about: dict[str, Any]  # for the template


CHANGELOG = (settings.BASE_DIR / "templates" / "docs" / "changelog.md").read_text()
RELEASE = r"^## (?P<number>\S+)(?: \((?P<date>.+)\))?$(?P<changes>(?:\n(?!## ).*)*)"
ABOUT: dict[str, dict[str, Any]] = {
    "states": {"fields": fields({"$ref": "#/components/schemas/WorkspaceDocument"})},
    "changelog": {
        "releases": [each.groupdict() for each in re.finditer(RELEASE, CHANGELOG, re.MULTILINE)]
    },
}
SECTIONS = {
    section: [
        Page(path, title, f"docs/{path or 'start'}.html", ABOUT.get(path, {}))
        for path, title in titles.items()
    ]
    for section, titles in GUIDE.items()
}
SECTIONS["Reference"] = [
    *(
        Page(f"reference/{each['id']}", each["summary"], "docs/operation.html", {"operation": each})
        for each in operations()
    ),
    Page("reference/headers", "Methods and headers", "docs/headers.html", DOCUMENT["components"]),
]
PAGES = [page for pages in SECTIONS.values() for page in pages]
NUMBERS = {page.path: number for number, page in enumerate(PAGES)}


def page(request: HttpRequest, path: str = "") -> HttpResponse:
    """A page of the documentation. Its commands have the address that it was requested with."""
    if request.method not in ("GET", "HEAD"):
        return error_response(MethodNotAllowed())
    if path not in NUMBERS:
        raise Http404
    current = PAGES[NUMBERS[path]]
    context = {
        "base": request.build_absolute_uri("/").rstrip("/"),
        "limit": LIMIT_MAX,
        "next": next(iter(PAGES[NUMBERS[path] + 1 :]), None),
        "page": current,
        "rate": REQUESTS_PER_MINUTE,
        "sections": SECTIONS,
        "support": settings.SUPPORT_EMAIL,
        "version": DOCUMENT["info"]["version"],
    }
    response = render(request, current.template, context | current.about)
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response
