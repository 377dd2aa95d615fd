"""Links from the admin's pages to the audit log, and from there to other pages."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.console.base import SectionAdmin
from config.console.formatting import icon


def log_url() -> str:
    return reverse("admin:audit_auditentry_changelist")


def filtered_log_url(**filters: Any) -> str:
    return f"{log_url()}?{urlencode(filters)}"


def only_link(value: Any, **filters: Any) -> SafeString:
    """An icon that leads to the audit log, filtered by one field."""
    return format_html(
        '<a class="only" href="{}" title="Only entries of {}" aria-label="Only entries of {}">{}'
        "</a>",
        filtered_log_url(**filters),
        value,
        value,
        icon("filter"),
    )


def log_link(text: str, **filters: Any) -> str:
    """The text, and an icon that filters the audit log by it; plain text without a value."""
    [value] = filters.values()
    return format_html("{} {}", text or value, only_link(value, **filters)) if value else text


def pages_of(request: HttpRequest) -> dict[str, str]:
    """The pages that the user may open of what entries name: field of an entry → URL's name."""
    return {
        section.audit_lookup: f"admin:{section.opts.app_label}_{section.opts.model_name}_change"
        for section in admin.site._registry.values()
        if isinstance(section, AuditHistory) and section.has_view_permission(request)
    }


def page_and_entries(pages: Mapping[str, str], text: str, field: str, value: Any) -> str:
    """The text as a link to the object's page, and an icon that leads to all of its entries.

    Args:
        pages: from `pages_of`; without the page, the text is no link.
    """
    if not value or field not in pages:
        return log_link(text, **{f"{field}__exact": value})
    link = page_link(pages, text or value, field, value)
    return format_html("{} {}", link, only_link(text or value, **{f"{field}__exact": value}))


def page_link(pages: Mapping[str, str], text: str, field: str, value: Any) -> str:
    """The text as a link to the object's page, if the user may open it."""
    if not value or field not in pages:
        return text
    return format_html('<a href="{}">{}</a>', reverse(pages[field], args=[value]), text)


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
