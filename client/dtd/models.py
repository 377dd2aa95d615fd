"""The API's objects.

Their attributes have the fields' names in snake case. Whatever the API adds later survives: `raw`
has all fields of the response, and an enum's value is a text, which type checkers know.
"""

from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

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
            kinds = types_of(cls).items()  # type: ignore[arg-type] # a class is hashable
            values = {name: convert(kind, raw[camel(name)]) for name, kind in kinds}
        except (KeyError, TypeError, ValueError) as exc:
            raise InvalidResponse(f"The response is not a {cls.__name__}: {exc!r}.") from exc
        return cls(raw=raw, **values)


@cache
def types_of(model: Any) -> dict[str, Any]:
    """The types of a model's attributes."""
    return {name: kind for name, kind in get_type_hints(model).items() if name != "raw"}


def camel(name: str) -> str:
    """The JSON field of an attribute, or the query parameter of an argument."""
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def convert(kind: Any, value: Any) -> Any:
    """Converts a JSON value to a model, a list of models, or a date-time; others stay."""
    inner = get_args(kind)
    if get_origin(kind) is list:
        return [convert(inner[0], each) for each in value]
    if datetime in (kind, *inner):
        return value if value is None else datetime.fromisoformat(value)
    return kind.parse(value) if isinstance(kind, type) and issubclass(kind, Model) else value


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
