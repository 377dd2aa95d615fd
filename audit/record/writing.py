"""How an entry is written: with the request's id, address and user agent, and without raw keys."""

from typing import Any

from django.forms.models import model_to_dict

from audit.models import WRITTEN, Action, AuditEntry
from config.database import fetch
from config.key_format import cut_raw_keys
from config.logs import redact, request_id
from config.request_context import client_info

USER_AGENT_LENGTH = 500  # characters that are stored
_INSERT = f"""
    INSERT INTO "audit_auditentry" ({", ".join(WRITTEN)})
    VALUES ({", ".join("%s" for _ in WRITTEN)}) RETURNING id, created_at
"""  # noqa: S608 - made of constants


def stored_client() -> tuple[str, str]:
    """The address and the user agent of the current request's client, as they may be stored."""
    address, user_agent = client_info()
    return address, redact(user_agent)[:USER_AGENT_LENGTH]


def write(action: Action, **facts: Any) -> AuditEntry:
    """Adds an entry of the current request, or of a command."""
    address, user_agent = stored_client()
    return insert(
        AuditEntry(
            action=action,
            request_id=request_id.get(),
            address=address,
            user_agent=user_agent,
            **facts,
        )
    )


def insert(entry: AuditEntry) -> AuditEntry:
    """Adds an entry. Uses a prepared statement, since each download waits for its entry."""
    [[entry.pk, entry.created_at]] = fetch(_INSERT, values(entry))
    return entry


def values(entry: AuditEntry) -> list[Any]:
    """What an INSERT sets, without raw keys."""
    facts = (getattr(entry, column) for column in WRITTEN)
    return [cut_raw_keys(fact) if isinstance(fact, str) else fact for fact in facts]


def ending(started: AuditEntry, **facts: Any) -> AuditEntry:
    """The entry of an end, with all other facts of its start; that one cannot change."""
    return AuditEntry(**model_to_dict(started, exclude=["id", "occurred_at"]) | facts)
