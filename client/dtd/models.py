"""The API's objects.

Their attributes have the fields' names in snake case. Whatever the API adds later survives: `raw`
has all fields of the response, and an enum's value is a text, which type checkers know.
"""

import types
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from dtd.errors import InvalidResponse

DocumentStatus = Literal[
    "DRAFT", "SENT", "VIEWED", "PARTIALLY_SIGNED", "COMPLETED", "DECLINED", "EXPIRED", "CANCELLED"
]
SigningOrder = Literal["PARALLEL", "SEQUENTIAL"]
RecipientRole = Literal["SIGNER", "APPROVER", "CC", "VIEWER"]
RecipientStatus = Literal["PENDING", "SENT", "VIEWED", "SIGNED", "APPROVED", "DECLINED", "BOUNCED"]
EventType = Literal[
    "document.created",
    "document.sent",
    "document.viewed",
    "document.partially_signed",
    "document.completed",
    "document.declined",
    "document.expired",
    "document.cancelled",
    "document.deleted",
    "webhook.test",
]


@dataclass(frozen=True)
class Model:
    """An object of the API.

    Attributes:
        raw: the JSON object, with all its fields.
    """

    raw: dict[str, Any] = field(repr=False, compare=False)

    @classmethod
    def parse(cls, raw: Any) -> Self:
        """Reads a JSON object.

        Raises:
            InvalidResponse: It lacks a field, or one is of the wrong type.
        """
        try:
            known = _fields(cls)  # type: ignore[arg-type] # a class is hashable
            values = {name: convert(kind, raw[key]) for name, key, kind in known}
        except (KeyError, TypeError, ValueError) as exc:
            raise InvalidResponse(f"The response is not a {cls.__name__}: {exc!r}.") from exc
        return cls(raw=raw, **values)


@cache
def _fields(cls: Any) -> list[tuple[str, str, Any]]:
    """The name of each attribute, the name of its JSON field, and its type."""
    hints = get_type_hints(cls)
    names = [each.name for each in fields(cls) if each.name != "raw"]
    return [(name, camel(name), hints[name]) for name in names]


def camel(name: str) -> str:
    """The JSON field of an attribute, or the query parameter of an argument."""
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def convert(kind: Any, value: Any) -> Any:
    """Converts a JSON value to a type: a model, a date-time, a list, or the same type.

    Raises:
        TypeError or ValueError: It has another type.
    """
    if isinstance(kind, types.UnionType) or get_origin(kind) is Union:
        first, other = get_args(kind)  # either "or None", or "or str": an enum that may grow
        nullable = value is None and other is type(None)
        return None if nullable else convert(str if other is str else first, value)
    if get_origin(kind) is list:
        return [convert(get_args(kind)[0], each) for each in value]
    if issubclass(kind, Model):
        return kind.parse(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


@dataclass(frozen=True)
class Progress(Model):
    """How many of the recipients who were asked to sign or approve have done so."""

    done: int
    total: int


@dataclass(frozen=True)
class Recipient(Model):
    id: str
    name: str
    email: str
    role: RecipientRole | str
    status: RecipientStatus | str
    order: int
    sent_at: datetime | None
    viewed_at: datetime | None
    completed_at: datetime | None
    declined_at: datetime | None
    decline_reason: str | None


@dataclass(frozen=True)
class Links(Model):
    """Paths on the server."""

    self: str
    download: str


@dataclass(frozen=True)
class Document(Model):
    id: str
    title: str
    status: DocumentStatus | str
    file_name: str
    page_count: int
    file_size: int
    signing_order: SigningOrder | str
    created_at: datetime
    sent_at: datetime | None
    completed_at: datetime | None
    expires_at: datetime | None
    progress: Progress
    recipients: list[Recipient]
    links: Links


@dataclass(frozen=True)
class EventData(Model):
    """The document that an event is about, and its status right after the event."""

    id: str
    status: DocumentStatus | str


@dataclass(frozen=True)
class Event(Model):
    """One thing that happened to a document. Ignore types that you do not know."""

    id: str
    type: EventType | str
    timestamp: datetime
    data: EventData


@dataclass(frozen=True)
class Workspace(Model):
    id: str
    name: str


@dataclass(frozen=True)
class Key(Model):
    id: str
    name: str


@dataclass(frozen=True)
class Counts(Model):
    """How many documents have exactly this status."""

    draft: int
    sent: int
    completed: int


@dataclass(frozen=True)
class Me(Model):
    """The workspace and the key that a request uses, with document counts."""

    workspace: Workspace
    key: Key
    documents: Counts


ModelType = TypeVar("ModelType", bound=Model)


@dataclass(frozen=True)
class Page(Generic[ModelType]):
    """One page of a list. For documents, `next_cursor` is None on the last page."""

    data: list[ModelType]
    next_cursor: str | None
