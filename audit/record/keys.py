"""API keys."""

from dataclasses import asdict
from datetime import UTC, datetime
from uuid import UUID

from audit.models import Action, AuditEntry
from audit.record.snapshots import KeySnapshot
from audit.record.writing import write


def key_is_recorded(key_id: UUID) -> bool:
    """Whether the log has an entry of this key: then the key exists or existed."""
    return AuditEntry.objects.filter(key_id=key_id).exists()


def key_created(*, key: KeySnapshot, person: str, note: str, expires_at: datetime | None) -> None:
    """A user created an API key.

    Args:
        note: what it is for; may be empty.
        expires_at: None if it does not expire.
    """
    facts = [f"expires {_minute(expires_at)}"] if expires_at else []
    facts += [f"for: {note}"] if note else []
    write(Action.KEY_CREATED, **asdict(key), person=person, detail="; ".join(facts))


def key_rolled(
    *, key: KeySnapshot, person: str, ends_at: datetime | None, replaced_by: KeySnapshot
) -> None:
    """A user created a key that replaces another one.

    Args:
        key: the old key.
        ends_at: when it expires; None if it goes on.
    """
    end = f"ends {_minute(ends_at)}" if ends_at else "does not end by itself"
    name = f"{replaced_by.key_name} ({replaced_by.key_prefix}…)"
    detail = f"{end}; replaced by {name}"
    write(Action.KEY_ROLLED, **asdict(key), person=person, detail=detail)


def _minute(moment: datetime) -> str:
    """ "2026-03-01 09:00 UTC"."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def key_revoked(*, key: KeySnapshot, person: str) -> None:
    """A user revoked an API key."""
    write(Action.KEY_REVOKED, **asdict(key), person=person)


def key_deleted(*, key: KeySnapshot, person: str) -> None:
    """A user deleted an API key; this entry keeps its name and prefix."""
    write(Action.KEY_DELETED, **asdict(key), person=person)
