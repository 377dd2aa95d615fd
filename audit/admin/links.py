"""Links from the admin's pages to the audit log, and from there to other pages."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from config.console.base import SectionAdmin
from config.console.formatting import icon, isolated


def log_url() -> str:
    return reverse("admin:audit_auditentry_changelist")


def filtered_log_url(**filters: Any) -> str:
    return f"{log_url()}?{urlencode(filters)}"


def log_link(text: str, *, name: str = "", **filters: Any) -> str:
    """The text, and an icon that filters the audit log by one field, if that has a value."""
    [value] = filters.values()
    if not value:
        return isolated(text)
    return format_html(
        '{0} <a class="only" href="{1}" title="Only entries of {2}" '
        'aria-label="Only entries of {2}">{3}</a>',
        isolated(text or value),
        filtered_log_url(**filters),
        name or value,
        icon("filter"),
    )


def pages_of(request: HttpRequest, workspace_id: UUID | None) -> dict[str, str]:
    """The pages that the user may open of what entries name: field of an entry → URL's name."""
    return {
        section.audit_lookup: f"admin:{section.opts.app_label}_{section.opts.model_name}_change"
        for section in admin.site._registry.values()
        if isinstance(section, AuditHistory) and section.has_pages_of(request, workspace_id)
    }


def page_and_entries(pages: Mapping[str, str], text: str, field: str, value: Any) -> str:
    """The text as a link to the object's page, and an icon that leads to all of its entries."""
    link = page_link(pages, text or value, field, value) if value else text
    return log_link(link, name=text, **{f"{field}__exact": value})


def page_link(pages: Mapping[str, str], text: str, field: str, value: Any) -> str:
    if not value or field not in pages:
        return isolated(text)
    url = reverse(pages[field], args=[value])
    return format_html('<a href="{}">{}</a>', url, isolated(text))


def refused_requests_url(**filters: Any) -> str:
    """The list of refused requests with these filters; who sees entries may open it."""
    return f"{reverse('admin:usage_refusedrequest_changelist')}?{urlencode(filters)}"


class AuditHistory(SectionAdmin):
    """A model whose objects have their "History" in the audit log, and their pages linked there."""

    audit_lookup = ""  # the field of an entry with the id of such an object

    def has_pages_of(self, request: HttpRequest, workspace_id: UUID | None) -> bool:
        """Whether entries of the workspace, which the user may see, link to pages of this model."""
        return self.has_view_permission(request)

    def history_url(self, obj: Model) -> str:
        return filtered_log_url(**{f"{self.audit_lookup}__exact": obj.pk})
