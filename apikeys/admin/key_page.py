"""The page of one key: all that is known of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.safestring import SafeString

from apikeys.admin.texts import refusal_warning, replaced_by
from apikeys.models import ApiKey
from apikeys.states import State
from apikeys.usage import report
from apikeys.usage.panels import month
from audit.admin.links import filtered_log_url, refused_requests_url
from audit.admin.search import parsed
from audit.models import NEWEST_FIRST, Action, AuditEntry
from config.console.formatting import time_tag
from config.console.object_page import ObjectPage
from workspaces.directory import label_for, own_workspaces
from workspaces.models import Workspace

REFUSED_SHOWN = 5
STARTING = (Action.KEY_CREATED, Action.KEY_ROLLED)
ENDING = (Action.KEY_REVOKED, Action.KEY_DELETED)

Event = tuple[str, SafeString, str]  # the class of its line, the time, the text


@dataclass(frozen=True)
class DeletedKey:
    """What remains of a deleted key."""

    id: UUID
    name: str
    prefix: str
    workspace_id: UUID
    workspace_name: str
    state: State = State.DELETED


def history_of(workspace_id: UUID, key_id: UUID) -> list[AuditEntry]:
    """The entries of a key's creation and its end, the oldest first.

    The workspace's entries of these actions are few; those of a key can be millions of downloads.
    """
    entries = AuditEntry.objects.filter(workspace_id=workspace_id, action__in=(*STARTING, *ENDING))
    return list(entries.filter(key_id=key_id).order_by("created_at", "id"))


def deleted_key(key_id: UUID) -> DeletedKey | None:
    """The deleted key with this id; None without one. The caller checks who may see it.

    The newest entry is read without a condition on the workspace, which could mean reading all
    entries of somebody else's key.
    """
    newest = AuditEntry.objects.filter(key_id=key_id).order_by(*NEWEST_FIRST).first()
    if newest is None or newest.workspace_id is None:
        return None
    life = history_of(newest.workspace_id, key_id)
    if all(entry.action != Action.KEY_DELETED for entry in life):
        return None
    names = (newest.key_name, newest.key_prefix, newest.workspace_id, newest.workspace_name)
    return DeletedKey(key_id, *names)


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
            if deleted is None or deleted.workspace_id not in own_workspaces(self.request):
                raise
            return deleted
        return key

    def context(self) -> dict[str, Any]:
        key = self.obj
        workspace = Workspace.objects.filter(pk=key.workspace_id).first()
        days = report.daily([key.id])[key.id]
        return {
            "title": key.name,
            "key": key,
            "exists": isinstance(key, ApiKey),
            "replaced_by": replaced_by(key) if isinstance(key, ApiKey) else "",
            "usage": report.total(days),
            "chart": month(days),
            "refused": report.refused(
                ("status", "reason"), REFUSED_SHOWN, for_support=False, key_id=key.id
            ),
            "refused_url": refused_requests_url(key_id__exact=key.id),
            "addresses": report.addresses(key.id),
            "workspace": workspace,
            "workspace_label": label_for(self.request, workspace) if workspace else "",
            "refusal": refusal_warning(workspace) if workspace else "",
            "events": events(key),
            "log_url": filtered_log_url(key_id__exact=key.id),
        }


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
