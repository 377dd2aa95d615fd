"""The API's objects.

Their attributes have the fields' names in snake case. Whatever the API adds later survives: `raw`
has all fields of the response, and an enum's value is a text, which type checkers know.
"""

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, Self, dataclass_transform, get_args, get_origin

from dtd.errors import InvalidResponse

DocumentStatus = Literal[
    "DRAFT", "SENT", "VIEWED", "PARTIALLY_SIGNED", "COMPLETED", "DECLINED", "EXPIRED", "CANCELLED"
]
SigningOrder = Literal["PARALLEL", "SEQUENTIAL"]
RecipientRole = Literal["SIGNER", "APPROVER", "CC", "VIEWER"]
RecipientStatus = Literal["PENDING", "SENT", "VIEWED", "SIGNED", "APPROVED", "DECLINED", "BOUNCED"]
FeedType = Literal[
    "document.created",
    "document.sent",
    "document.viewed",
    "document.partially_signed",
    "document.completed",
    "document.declined",
    "document.expired",
    "document.cancelled",
    "document.deleted",
]
EventType = Literal[FeedType, "webhook.test"]


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Model:
    """An object of the API; each kind of them is a frozen dataclass.

    Attributes:
        raw: the JSON object, with all its fields.
    """

    raw: dict[str, Any] = field(repr=False, compare=False)

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    @classmethod
    def parse(cls, raw: Any) -> Self:
        """Reads a JSON object.

        Raises:
            InvalidResponse: It lacks a field, or one is of the wrong type.
        """
        try:
            values = [convert(each.type, raw[camel(each.name)]) for each in fields(cls)[1:]]
        except (KeyError, TypeError, ValueError) as exc:
            raise InvalidResponse(f"The response is not a {cls.__name__}: {exc!r}.") from exc
        return cls(raw, *values)


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


class Progress(Model):
    """How many of the recipients who were asked to sign or approve have done so."""

    done: int
    total: int


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


class Links(Model):
    """Paths on the server."""

    self: str
    download: str


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


class EventData(Model):
    """The document that an event is about, and its status right after the event."""

    id: str
    status: DocumentStatus | str


class Event(Model):
    """One thing that happened to a document. Ignore types that you do not know."""

    id: str
    type: EventType | str
    timestamp: datetime
    data: EventData


class Workspace(Model):
    id: str
    name: str


class Key(Model):
    id: str
    name: str


class Counts(Model):
    """How many documents have exactly this status."""

    draft: int
    sent: int
    completed: int


class Me(Model):
    """The workspace and the key that a request uses, with document counts."""

    workspace: Workspace
    key: Key
    documents: Counts
