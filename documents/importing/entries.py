"""What a line of the file must look like: structs, and rules that these do not express."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from documents import models

# The API returns all recipients of a document together: this bounds the size of a response.
MAX_RECIPIENTS = 1000


class Invalid(Exception):
    """A line cannot be imported; the text says why."""


def _column(model: type[Any], name: str, pattern: str | None = None) -> Meta:
    max_length = model._meta.get_field(name).max_length
    return Meta(max_length=max_length, pattern=pattern)


Time = Annotated[datetime, Meta(tz=True)]
Integer = Annotated[int, Meta(ge=0, le=2**31 - 1)]  # as the columns
NOT_BLANK = r"\S"


class RecipientEntry(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    id: UUID | None = None
    name: Annotated[str, _column(models.Recipient, "name")]
    email: Annotated[str, _column(models.Recipient, "email")]
    role: models.RecipientRole
    status: models.RecipientStatus
    order: Integer
    sent_at: Time | None = None
    viewed_at: Time | None = None
    completed_at: Time | None = None
    declined_at: Time | None = None
    decline_reason: Annotated[str, _column(models.Recipient, "decline_reason")] | None = None


class DocumentEntry(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A document in the file; fields have the names of columns, except the last four."""

    id: UUID | None = None
    title: Annotated[str, _column(models.Document, "title", NOT_BLANK)]
    status: models.DocumentStatus
    file_name: Annotated[str, _column(models.Document, "file_name", NOT_BLANK)]
    page_count: Integer = 0
    file_size: Any = None
    signing_order: models.SigningOrder
    created_at: Time
    sent_at: Time | None = None
    completed_at: Time | None = None
    expires_at: Time | None = None
    deleted_at: Time | None = None
    recipients: Annotated[list[RecipientEntry], Meta(max_length=MAX_RECIPIENTS)]
    files: dict[Literal["original", "signed", "certificate"], str | None]
    progress: Any = None  # ignored, as the next one
    links: Any = None


def read(line: bytes) -> DocumentEntry:
    """The document of a line; `Invalid` says which field is wrong."""
    try:
        document = msgspec.json.decode(line, type=DocumentEntry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise Invalid(str(exc)) from None
    complete = document.status is models.DocumentStatus.COMPLETED
    if complete and not document.completed_at:
        raise Invalid("a COMPLETED document needs completedAt")
    needed = set(models.FILE_TYPES) if complete else {"original"}
    if {kind for kind, name in document.files.items() if name} != needed:
        raise Invalid("files: original, and of a COMPLETED document signed and certificate too")
    for recipient in document.recipients:
        if not models.is_address(recipient.email):
            raise Invalid(f"the email {recipient.email!r} must have one @, and no spaces")
    for struct in (document, *document.recipients):
        for name, value in asdict(struct).items():
            # With a year to spare, so that Python has these times in any time zone.
            if isinstance(value, datetime) and not 1 < value.year < 9999:
                raise Invalid(f"{name} must be in the years 2 to 9998")
    return document
