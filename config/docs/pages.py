"""The pages of /api/docs: the guide in `templates/docs/`, and what the OpenAPI document says."""

import re
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse

from apikeys.throttling import REQUESTS_PER_MINUTE
from config.api.openapi import DOCUMENT
from config.api.parameters import LIMIT_MAX
from config.docs.reference import fields, operations

# The titles of the guide's pages by path, in the order in which somebody needs them.
GUIDE = {
    "First steps": {"": "Start", "authentication": "Authentication"},
    "Read documents": {
        "pages": "Pages",
        "search": "Search",
        "downloads": "Downloads",
        "events": "Events",
        "webhooks": "Webhooks",
        "assistants": "AI assistants",
    },
    "Rely on it": {
        "errors": "Errors",
        "limits": "Limits",
        "versions": "Versions",
        "states": "States and times",
        "recipes": "Recipes and tests",
    },
}


class Page(NamedTuple):
    path: str  # after /api/docs/
    title: str
    template: str
    operation: dict[str, Any] = {}  # of a page of the reference

    @property
    def url(self) -> str:
        return reverse("docs", args=[self.path] if self.path else [])


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


def context_of(page: Page, base: str) -> dict[str, Any]:
    """What the page's template needs; its commands have the address `base`."""
    return {
        "base": base,
        "client": reverse("docs_client"),
        "fields": FIELDS,
        "headers": DOCUMENT["components"]["headers"],
        "limit": LIMIT_MAX,
        "mails": bool(settings.EMAIL_HOST),
        "operation": page.operation,
        "page": page,
        "public_key": next(iter(settings.AUDIT_PUBLIC_KEYS), ""),  # the others are former ones
        "rate": REQUESTS_PER_MINUTE,
        "releases": RELEASES,
        "sample_of_operation": f"docs/samples/{page.operation.get('id')}.html",
        "sections": SECTIONS,
        "support": settings.SUPPORT_EMAIL,
        "version": DOCUMENT["info"]["version"],
    }
