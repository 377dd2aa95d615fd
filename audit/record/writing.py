"""How an entry is written: with the request's id, address and user agent, and without raw keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import connection
from django.forms.models import model_to_dict

from audit.models import WRITTEN, Action, AuditEntry
from config.database import fetch
from config.key_format import cut_raw_keys
from config.logs import redact, request_id
from config.request_context import client_info

USER_AGENT_LENGTH = 500  # characters that are stored
_COLUMNS = ", ".join(WRITTEN)
_INSERT = f"""
    INSERT INTO "audit_auditentry" ({_COLUMNS})
    VALUES ({", ".join("%s" for _ in WRITTEN)}) RETURNING id, created_at
"""  # noqa: S608 - made of constants

IN_MEMORY = 1000  # entries of `together`; the others are in a temporary table
_CREATE = f"""
    CREATE TEMPORARY TABLE audit_waiting AS SELECT {_COLUMNS} FROM audit_auditentry WITH NO DATA
"""  # noqa: S608 - made of constants
_ADD = f"""
    INSERT INTO audit_auditentry ({_COLUMNS}) SELECT {_COLUMNS} FROM audit_waiting;
    DROP TABLE audit_waiting
"""  # noqa: S608 - made of constants
_waiting: ContextVar[list[AuditEntry] | None] = ContextVar("waiting", default=None)


def stored_client() -> tuple[str, str]:
    """The address and the user agent of the current request's client, as they may be stored."""
    address, user_agent = client_info()
    return address, redact(user_agent)[:USER_AGENT_LENGTH]


def write(action: Action, **facts: Any) -> AuditEntry:
    """Adds an entry of the current request, or of a command."""
    address, user_agent = stored_client()
    entry = AuditEntry(
        action=action,
        request_id=request_id.get(),
        address=address,
        user_agent=user_agent,
        **facts,
    )
    waiting = _waiting.get()
    if waiting is None:
        return insert(entry)
    waiting.append(entry)
    if len(waiting) >= IN_MEMORY:
        _copy(waiting)
    return entry


@contextmanager
def together() -> Iterator[None]:
    """Adds the entries that are written meanwhile at the end, all at once.

    For many entries in a long transaction, which is the caller's: that is quick, and the entries
    can be sealed soon after the time that they have.
    """
    waiting: list[AuditEntry] = []
    with connection.cursor() as cursor:
        cursor.execute(_CREATE)
        token = _waiting.set(waiting)
        try:
            yield
        finally:
            _waiting.reset(token)
        _copy(waiting)
        cursor.execute(_ADD)


def _copy(entries: list[AuditEntry]) -> None:
    """Moves entries to the temporary table."""
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(f"COPY audit_waiting ({_COLUMNS}) FROM STDIN") as copy,
    ):
        for entry in entries:
            copy.write_row(values(entry))
    entries.clear()


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
