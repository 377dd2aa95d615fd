"""Links from the admin's pages to the audit log, and from there to other pages."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from config.console.base import SectionAdmin


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


def pages_of(request: HttpRequest) -> dict[str, str]:
    """The pages that the user may open of what entries name: field of an entry → URL's name."""
    return {
        section.audit_lookup: f"admin:{section.opts.app_label}_{section.opts.model_name}_change"
        for section in admin.site._registry.values()
        if isinstance(section, AuditHistory) and section.has_view_permission(request)
    }


def page_and_entries(pages: Mapping[str, str], text: str, field: str, value: Any) -> str:
    """The text as a link to the object's page, and beside it a link to all of its entries.

    Args:
        pages: from `pages_of`; without the page, the text leads to the entries.
    """
    if not value or field not in pages:
        return log_link(text, **{f"{field}__exact": value})
    return format_html(
        '<a href="{}">{}</a> '
        '<a class="quiet" href="{}" aria-label="All entries of {}">(all entries)</a>',
        reverse(pages[field], args=[value]),
        text or value,
        filtered_log_url(**{f"{field}__exact": value}),
        text or value,
    )


def refused_requests_url(text: str) -> str:
    """The list of refused requests, searched for a text; who sees entries may open it."""
    return f"{reverse('admin:usage_refusedrequest_changelist')}?{urlencode({'q': text})}"


class AuditHistory(SectionAdmin):
    """A model whose objects have their "History" in the audit log, and their pages linked there.

    Attributes:
        audit_lookup: the field of an audit entry that has the id of an object of this model.
    """

    audit_lookup = ""

    def history_url(self, obj: Model) -> str:
        return filtered_log_url(**{f"{self.audit_lookup}__exact": obj.pk})
