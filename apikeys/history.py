"""The life of a key as the audit log has it, also of a deleted one."""

from dataclasses import dataclass
from uuid import UUID

from apikeys.states import State
from audit.models import LISTED, NEWEST_FIRST, Action, AuditEntry

ACTIONS = (Action.KEY_CREATED, Action.KEY_ROLLED, Action.KEY_REVOKED, Action.KEY_DELETED)


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
    entries = AuditEntry.objects.filter(workspace_id=workspace_id, action__in=ACTIONS)
    return list(entries.filter(key_id=key_id).order_by("created_at", "id"))


def deleted_key(key_id: UUID) -> DeletedKey | None:
    """The deleted key with this id; None without one. The caller checks who may see it.

    The newest entry is read without a condition on the workspace, which could mean reading all
    entries of somebody else's key.
    """
    newest = AuditEntry.objects.filter(LISTED, key_id=key_id).order_by(*NEWEST_FIRST).first()
    if newest is None or newest.workspace_id is None:
        return None
    life = history_of(newest.workspace_id, key_id)
    if all(entry.action != Action.KEY_DELETED for entry in life):
        return None
    return DeletedKey(
        id=key_id,
        name=newest.key_name,
        prefix=newest.key_prefix,
        workspace_id=newest.workspace_id,
        workspace_name=newest.workspace_name,
    )
