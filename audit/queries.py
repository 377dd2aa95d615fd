from uuid import UUID

from audit.models import NEWEST_FIRST, NO_DOWNLOADS, Action, AuditEntry


def key_is_recorded(key_id: UUID) -> bool:
    """Whether the log has an entry of this key: then the key exists or existed."""
    return AuditEntry.objects.filter(key_id=key_id).exists()


def newest_of(workspace_id: UUID, *actions: Action) -> AuditEntry | None:
    """The newest entry of a workspace with one of these actions, which are no downloads."""
    entries = AuditEntry.objects.filter(NO_DOWNLOADS, workspace_id=workspace_id, action__in=actions)
    return entries.order_by(*NEWEST_FIRST).first()
