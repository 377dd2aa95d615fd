from typing import Any

from audit.models import NEWEST_FIRST, NO_DOWNLOADS, Action, AuditEntry


def newest(action: Action, **of: Any) -> AuditEntry | None:
    """The newest entry of an action, which is no download."""
    entries = AuditEntry.objects.filter(NO_DOWNLOADS, action=action, **of)
    return entries.order_by(*NEWEST_FIRST).first()
