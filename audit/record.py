"""The only writers of the audit history: one function for each thing that can happen.

Every fact is a keyword without a default: an entry that lacks one is a TypeError in the caller,
not a gap in the history.
"""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from audit.models import Action, AuditEntry
from config.logs import redact, request_id

USER_AGENT_LENGTH = 500  # characters kept of what a client says it is


@dataclass(frozen=True, kw_only=True)
class KeyFacts:
    """What an entry copies of an API key."""

    workspace_id: UUID
    workspace_name: str
    key_id: UUID
    key_name: str
    key_prefix: str


@dataclass(frozen=True, kw_only=True)
class DocumentFacts:
    """What an entry copies of a document."""

    document_id: UUID
    document_title: str


def _write(action: Action, **facts: Any) -> None:
    AuditEntry.objects.create(action=action, request_id=request_id.get(), **facts)


def key_created(*, key: KeyFacts, person: str) -> None:
    """A person made an API key."""
    _write(Action.KEY_CREATED, **asdict(key), person=person)


def key_revoked(*, key: KeyFacts, person: str) -> None:
    """A person revoked an API key."""
    _write(Action.KEY_REVOKED, **asdict(key), person=person)


def key_deleted(*, key: KeyFacts, person: str) -> None:
    """A person deleted an API key; this entry keeps its name and prefix."""
    _write(Action.KEY_DELETED, **asdict(key), person=person)


def document_downloaded(
    *, key: KeyFacts, document: DocumentFacts, file_type: str, address: str, user_agent: str
) -> None:
    """A key starts to download a file.

    Outside of a transaction, as in the download view, the entry is committed when this returns.
    """
    _write(
        Action.DOCUMENT_DOWNLOADED,
        **asdict(key),
        **asdict(document),
        file_type=file_type,
        address=address,
        user_agent=redact(user_agent)[:USER_AGENT_LENGTH],
    )
