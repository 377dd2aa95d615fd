"""Links from the admin's pages to the audit log, and from there to other pages."""

from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html


def log_url() -> str:
    return reverse("admin:audit_auditentry_changelist")


def filtered_log_url(**filters: Any) -> str:
    return f"{log_url()}?{urlencode(filters)}"


def log_link(text: str, **filters: Any) -> str:
    """The text as a link to the audit log, filtered by one field; plain text without a value."""
    [value] = filters.values()
    if not value:
        return text
    url = filtered_log_url(**filters)
    title = f"Only entries of {value}"
    return format_html('<a href="{}" title="{}">{}</a>', url, title, text or value)


# Pages of other apps, which the audit log does not import: field of an entry → model.
PAGES = {
    "key_id": "apikeys.ApiKey",
    "document_id": "documents.Document",
    "workspace_id": "workspaces.Workspace",
}


def pages_of(request: HttpRequest) -> frozenset[str]:
    """The fields in `PAGES` whose pages the user may open."""
    return frozenset(field for field, model in PAGES.items() if _may_open(request, model))


def _may_open(request: HttpRequest, label: str) -> bool:
    try:
        section = admin.site.get_model_admin(apps.get_model(label))
    except (LookupError, NotRegistered):
        return False
    return bool(section.has_view_permission(request))


def page_url(field: str, value: Any) -> str:
    """The page of the object with this id."""
    app, model = PAGES[field].lower().split(".")
    return reverse(f"admin:{app}_{model}_change", args=[value])


def page_and_entries(pages: frozenset[str], text: str, field: str, value: Any) -> str:
    """The text as a link to the object's page, and beside it a link to all of its entries.

    Args:
        pages: from `pages_of`; without the page, the text leads to the entries.
    """
    if not value or field not in pages:
        return log_link(text, **{f"{field}__exact": value})
    return format_html(
        '<a href="{}">{}</a> '
        '<a class="quiet" href="{}" aria-label="All entries of {}">(all entries)</a>',
        page_url(field, value),
        text or value,
        filtered_log_url(**{f"{field}__exact": value}),
        text or value,
    )


def refused_requests_url(request: HttpRequest, text: str) -> str:
    """The list of refused requests, searched for a text; "" if the user may not open it."""
    if not _may_open(request, "usage.RefusedRequest"):
        return ""
    return f"{reverse('admin:usage_refusedrequest_changelist')}?{urlencode({'q': text})}"


class AuditHistory:
    """Makes the "History" of an object its entries in the audit log.

    Attributes:
        audit_lookup: the field of an audit entry that has the id of an object of this model.
    """

    audit_lookup = ""

    def history_url(self, obj: Model) -> str:
        return filtered_log_url(**{f"{self.audit_lookup}__exact": obj.pk})
