"""The pages of /api/docs: the guide in `templates/docs/`, and what the OpenAPI document says."""

import re
from typing import Any, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apikeys.throttling import REQUESTS_PER_MINUTE
from config.api.openapi import DOCUMENT
from config.api.parameters import LIMIT_MAX
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
    operation: dict[str, Any] = {}  # of a page of the reference


CHANGELOG = (settings.BASE_DIR / "templates" / "docs" / "changelog.md").read_text()
RELEASE = r"^## (?P<number>\S+)(?: \((?P<date>.+)\))?$(?P<changes>(?:\n(?!## ).*)*)"
RELEASES = [each.groupdict() for each in re.finditer(RELEASE, CHANGELOG, re.MULTILINE)]
FIELDS = fields({"$ref": "#/components/schemas/WorkspaceDocument"})
SECTIONS = {
    section: [Page(path, title, f"docs/{path or 'start'}.html") for path, title in titles.items()]
    for section, titles in GUIDE.items()
}
SECTIONS["Reference"] = [
    *(
        Page(f"reference/{each['id']}", each["summary"], "docs/operation.html", each)
        for each in operations()
    ),
    Page("reference/headers", "Methods and headers", "docs/headers.html"),
]
PAGES = [page for pages in SECTIONS.values() for page in pages]
NUMBERS = {page.path: number for number, page in enumerate(PAGES)}


@require_safe
def page(request: HttpRequest, path: str = "") -> HttpResponse:
    """A page of the documentation. Its commands have the address that it was requested with."""
    if path not in NUMBERS:
        raise Http404
    current = PAGES[NUMBERS[path]]
    context = {
        "base": request.build_absolute_uri("/").rstrip("/"),
        "fields": FIELDS,
        "headers": DOCUMENT["components"]["headers"],
        "limit": LIMIT_MAX,
        "mails": bool(settings.EMAIL_HOST),
        "next": next(iter(PAGES[NUMBERS[path] + 1 :]), None),
        "operation": current.operation,
        "page": current,
        "rate": REQUESTS_PER_MINUTE,
        "releases": RELEASES,
        "sections": SECTIONS,
        "support": settings.SUPPORT_EMAIL,
        "version": DOCUMENT["info"]["version"],
    }
    response = render(request, current.template, context)
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response
