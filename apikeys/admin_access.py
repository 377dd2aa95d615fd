"""Who sees which keys in the admin, who changes them, and what a workspace is called."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.models import ApiKey
from audit.admin.links import AuditHistory
from config.admin.base import SectionAdmin, request_user
from config.admin.formatting import ago_with_exact, exact, time_tag
from workspaces.api_access import access_warning
from workspaces.directory import own_workspaces
from workspaces.links import page_url as workspace_url
from workspaces.models import Workspace
from workspaces.permissions import (
    administered_by,
    sees_every_workspace,
)

LIST = "admin:apikeys_apikey_changelist"
KEY = "admin:apikeys_apikey_change"


class KeyAccessAdmin(AuditHistory, SectionAdmin):
    """Only an admin of a key's workspace changes the key; support staff and operators see it.

    All access goes through `get_queryset`, so that for anybody else the key does not exist.
    """

    audit_lookup = "key_id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        user = request_user(request)
        keys: QuerySet[ApiKey] = super().get_queryset(request)
        if not sees_every_workspace(user):
            keys = keys.filter(workspace__in=administered_by(user))
        return keys.select_related("workspace", "created_by", "revoked_by", "replaced_by")

    def has_view_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return sees_every_workspace(request_user(request)) or self.has_delete_permission(
            request, obj
        )

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(own_workspaces(request))

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        own = own_workspaces(request)
        return bool(own) if obj is None else obj.workspace_id in own

    def own_key(self, request: HttpRequest, object_id: str) -> ApiKey:
        """The key, if the user may change it.

        Raises:
            PermissionDenied: the user may only see it, or no key at all.
            Http404: for the user, it does not exist.
        """
        key: ApiKey = self.visible_or_404(request, object_id)
        if not self.has_delete_permission(request, key):
            raise PermissionDenied
        return key

    def workspace_label(self, request: HttpRequest, workspace: Workspace) -> str:
        """The workspace's name; with part of its id, if the user could see another one like it."""
        user = request_user(request)
        own = own_workspaces(request)
        return (
            workspace.label if sees_every_workspace(user) else own.get(workspace.id, workspace.name)
        )


def last_use(key: ApiKey) -> SafeString | None:
    """How long ago the key was used, with the exact time; None if never."""
    return ago_with_exact(key.last_used_at) if key.last_used_at else None


def end_of(key: ApiKey) -> SafeString:
    """When the key ended or will end, and who ended it; "" if it does not."""
    if key.revoked_at:
        by = f" by {key.revoked_by}" if key.revoked_by else ""
        return format_html("revoked {}{}", time_tag(key.revoked_at), by)
    if not key.expires_at:
        return SafeString("")
    verb = "expired" if key.state.has_ended else "expires"
    return format_html("{} {}", verb, time_tag(key.expires_at))


def replaced_by(key: ApiKey) -> SafeString:
    """The key that it was rolled to, with a link; "" without one that exists."""
    new = key.replaced_by
    if new is None:
        return SafeString("")
    url = reverse(KEY, args=[new.pk])
    return format_html('“<a href="{}">{}</a>” (<code>{}…</code>)', url, new.name, new.prefix)


def expiry_warning(key: ApiKey, expires_at: datetime) -> SafeString:
    """What to do before the key expires. A successor that has ended too replaces nothing."""
    link = format_html('The key “<a href="{}">{}</a>”', reverse(KEY, args=[key.pk]), key.name)
    if key.replaced_by and not key.replaced_by.state.has_ended:
        return format_html(
            "{} was rolled. Replaced by {}: change programs over by {}.",
            link,
            replaced_by(key),
            exact(expires_at),
        )
    return format_html(
        "{} expires on {}. Roll it, so that programs that use it can change over.",
        link,
        exact(expires_at),
    )


def refusal_warning(workspace: Workspace) -> SafeString:
    """Why keys of the workspace are refused at present, and what to do about it; "" if not."""
    text = access_warning(workspace)
    if not text:
        return SafeString("")
    if not workspace.suspended:
        return format_html('{} <a href="{}">Change the plan</a>', text, settings.UPGRADE_URL)
    why = format_html('{} <a href="{}">See why</a>, then', text, workspace_url(workspace))
    if settings.SUPPORT_EMAIL:
        email = settings.SUPPORT_EMAIL
        return format_html('{} write to <a href="mailto:{}">{}</a>.', why, email, email)
    return format_html("{} ask the operator of this service to reinstate it.", why)


def refusal_reason(workspace: Workspace) -> SafeString:
    """The same for support staff: where it says who did it."""
    text = access_warning(workspace)
    if not text:
        return SafeString("")
    url = workspace_url(workspace)
    return format_html('{} <a href="{}">Who changed that, and when</a>', text, url)
