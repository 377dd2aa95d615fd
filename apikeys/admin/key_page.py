"""The page of one key: all that is known of it."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.http import Http404
from django.urls import reverse
from django.utils.safestring import SafeString

from apikeys import charts
from apikeys.admin.texts import refusal_warning, replaced_by
from apikeys.history import DeletedKey, deleted_key, history_of
from apikeys.models import ApiKey
from apikeys.states import State
from apikeys.usage import latest, report
from apikeys.usage.models import KeyAddress
from audit.admin.links import filtered_log_url
from audit.models import Action
from audit.scope import scope_of
from config.console.formatting import time_tag
from config.console.object_page import ObjectPage
from workspaces.directory import label_for, own_workspaces
from workspaces.models import Workspace
from workspaces.permissions import sees_every_workspace

REFUSED = "admin:usage_refusedrequest_changelist"
REFUSED_SHOWN = 5
ENDING = (Action.KEY_REVOKED, Action.KEY_DELETED)

Event = tuple[str, SafeString, str]  # the class of its line, the time, the text


class KeyPage(ObjectPage):
    """For a key that exists, and for a deleted one, which the audit log still has."""

    template_name = "admin/apikeys/apikey/key.html"
    obj: ApiKey | DeletedKey

    def find(self, object_id: str) -> ApiKey | DeletedKey:
        try:
            key: ApiKey = super().find(object_id)
        except Http404:
            key_id = parsed(object_id)
            deleted = deleted_key(key_id) if key_id else None
            if deleted is None or not scope_of(self.request).includes(deleted.workspace_id):
                raise
            return deleted
        return key

    def context(self) -> dict[str, Any]:
        key, exists = self.obj, isinstance(self.obj, ApiKey)
        own, for_support = own_workspaces(self.request), sees_every_workspace(self.user)
        workspace = Workspace.objects.filter(pk=key.workspace_id).first()
        days = report.daily([key.id])[key.id]
        addresses = list(report.addresses(key.id))
        return {
            "title": key.name,
            "key": key,
            "may_change": exists and key.workspace_id in own,
            "replaced_by": replaced_by(key) if isinstance(key, ApiKey) else "",
            "usage": report.total(days),
            "chart": charts.month(days),
            # Only support staff may know all reasons.
            "refused": latest.of_key(key.id, REFUSED_SHOWN, for_support=for_support),
            "refused_url": f"{reverse(REFUSED)}?key_id__exact={key.id}",
            "addresses": addresses,
            "last_use": last_use(key, addresses) if isinstance(key, ApiKey) else None,
            "workspace": workspace,
            "workspace_label": label_for(self.request, workspace) if workspace else "",
            "refusal": refusal_warning(workspace, for_support=for_support) if workspace else "",
            "events": events(key),
            "log_url": filtered_log_url(key_id__exact=key.id),
        }


class LastUse(NamedTuple):
    """When a key was last used, from where, and by which client."""

    at: datetime
    address: str
    client: str


def last_use(key: ApiKey, addresses: Sequence[KeyAddress]) -> LastUse | None:
    """The newest that is known. The key itself has it at most once a minute.

    Args:
        addresses: the last seen first.
    """
    newest = addresses[0] if addresses else None
    if newest and (key.last_used_at is None or newest.last_seen > key.last_used_at):
        return LastUse(newest.last_seen, newest.address, newest.user_agent)
    if key.last_used_at is None:
        return None
    return LastUse(key.last_used_at, key.last_used_address, key.last_used_client)


def parsed(text: str) -> UUID | None:
    """An id from the URL; None if it is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def events(key: ApiKey | DeletedKey) -> Iterator[Event]:
    """The key's life: what the audit log has, and its expiry."""
    for entry in history_of(key.workspace_id, key.id):
        action = entry.action_label.removeprefix("API key ").capitalize()
        detail = f" ({entry.detail})" if entry.detail else ""
        kind = "ended" if entry.action in ENDING else "done"
        yield kind, time_tag(entry.created_at), f"{action} by {entry.person}{detail}"
    if isinstance(key, ApiKey) and key.expires_at and key.state is not State.REVOKED:
        expired = key.state is State.EXPIRED
        yield (
            "ended" if expired else "",
            time_tag(key.expires_at),
            "Expired" if expired else "Expires",
        )
