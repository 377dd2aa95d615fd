from typing import Any
from uuid import UUID

from audit.models import NEWEST_FIRST, NO_DOWNLOADS, Action, AuditEntry


def key_is_recorded(key_id: UUID) -> bool:
    """Whether the log has an entry of this key: then the key exists or existed."""
    return AuditEntry.objects.filter(key_id=key_id).exists()


def newest(action: Action, **of: Any) -> AuditEntry | None:
    """The newest entry of an action, which is no download."""
    entries = AuditEntry.objects.filter(NO_DOWNLOADS, action=action, **of)
    return entries.order_by(*NEWEST_FIRST).first()
