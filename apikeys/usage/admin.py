"""Refused requests in the admin: all for support, those of their workspaces for admins."""

from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.usage import panels, traffic
from apikeys.usage.filters import RefusedChangeList, RefusedFilter
from apikeys.usage.models import RefusedRequest
from apikeys.usage.reasons import explain
from audit.admin.base import ScopedAdmin
from audit.admin.links import filtered_log_url
from audit.scope import scope_of
from config.console.base import request_user
from config.console.formatting import date_column
from config.templatetags.console import copyable
from workspaces.permissions import sees_every_workspace

NOT_FOR_ADMINS = ("response", "document_link")


@admin.register(RefusedRequest)
class RefusedRequestAdmin(ScopedAdmin):
    """Which requests were refused, and why: the answer to a quoted Request-Id."""

    empty_text = "No request was refused in the last 30 days."
    menu_position = 35
    filter_form = RefusedFilter
    change_list_template = "admin/usage/refusedrequest/change_list.html"
    only_on_pages = ("status", "when")
    sections = (
        ("What happened", ("when", "status", "response", "why", "document_link")),
        ("Who", ("key_link", "workspace", "address_link", "user_agent")),
        ("Request", ("method", "path", "whole_request", "audit_log")),
    )

    def get_filter_form(self, request: HttpRequest) -> RefusedFilter:
        return RefusedFilter(request.GET, scope_of(request))

    def panels(self, request: HttpRequest) -> list[SafeString]:
        return panels.for_user(request_user(request))

    def figures(self) -> list[tuple[str, list[str]]]:
        return traffic.figures()

    # --- Pages ---

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        row = super().get_object(request, *args, **kwargs)
        if row is not None:
            explain([row], for_support=sees_every_workspace(request_user(request)))
        return row

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RefusedChangeList]:
        return RefusedChangeList

    def hidden_fields(self, request: HttpRequest) -> Collection[str]:
        return () if sees_every_workspace(request_user(request)) else NOT_FOR_ADMINS

    def heading(self, obj: RefusedRequest) -> str:
        return f"Refused request {obj.short_request_id}"

    # --- Fields ---

    when = date_column("created_at", "time")

    @admin.display(description="reason")
    def why(self, row: RefusedRequest) -> str:
        if not row.more:
            return row.reason
        return format_html(
            '{} <span class="quiet">and {} more like it within this minute</span>',
            row.reason,
            f"{row.more:,}",
        )

    @admin.display(description="response")
    def response(self, row: RefusedRequest) -> str:
        return row.response_text

    @admin.display(description="API key")
    def key_link(self, row: RefusedRequest) -> str:
        """The key's page; of an unknown key, what it begins with."""
        if row.key_id is None:
            return format_html("<code>{}…</code>", row.key_prefix) if row.key_prefix else ""
        return format_html(
            '<a href="{}">{}</a>',
            reverse("admin:apikeys_apikey_change", args=[row.key_id]),
            row.key_name,
        )

    @admin.display(description="workspace")
    def workspace(self, row: RefusedRequest) -> str:
        return list_link(row.workspace_label, workspace_id__exact=row.workspace_id)

    @admin.display(description="address")
    def address_link(self, row: RefusedRequest) -> str:
        link = list_link(row.address, address__exact=row.address)
        return link and format_html('<span class="nowrap">{}</span>', link)

    @admin.display(description="request id")
    def whole_request(self, row: RefusedRequest) -> str:
        return copyable(row.request_id)

    @admin.display(description="document")
    def document_link(self, row: RefusedRequest) -> str:
        if row.document_id is None:
            return ""
        url = reverse("admin:documents_document_change", args=[row.document_id])
        return format_html('<a href="{}"><code>{}</code></a>', url, row.document_id)

    @admin.display(description="audit log")
    def audit_log(self, row: RefusedRequest) -> str:
        """What this key did that was not refused."""
        if row.key_id is None:
            return ""
        url = filtered_log_url(key_id__exact=row.key_id)
        return format_html('<a href="{}">Audit log of the key</a>', url)


def list_link(text: str, **filters: Any) -> str:
    """The text as a link to the list, filtered by one field; "" without a value."""
    [value] = filters.values()
    if not value:
        return ""
    url = f"{reverse('admin:usage_refusedrequest_changelist')}?{urlencode(filters)}"
    return format_html('<a href="{}" title="Only those of {}">{}</a>', url, value, text or value)
