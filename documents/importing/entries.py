"""What a line of the file must look like: structs, and rules that these do not express."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from django.db import models
from msgspec import Meta, Struct

from documents.models import Document, Recipient, is_address

# The API returns all recipients of a document together: this bounds the size of a response.
MAX_RECIPIENTS = 1000


class Invalid(Exception):
    """A line cannot be imported; the text says why."""


def _column(model: type[models.Model], name: str) -> Meta:
    return Meta(max_length=model._meta.get_field(name).max_length)  # type: ignore[union-attr]


NO_ID = UUID(int=0)  # of a document or recipient that the file gives none
Time = Annotated[datetime, Meta(tz=True)]
Integer = Annotated[int, Meta(ge=0, le=2**31 - 1)]  # as the columns


class RecipientEntry(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A recipient in the file; fields have the names of columns."""

    id: UUID = NO_ID
    name: Annotated[str, _column(Recipient, "name")]
    email: Annotated[str, _column(Recipient, "email")]
    role: Recipient.Role
    status: Recipient.Status
    order: Integer
    sent_at: Time | None = None
    viewed_at: Time | None = None
    completed_at: Time | None = None
    declined_at: Time | None = None
    decline_reason: Annotated[str, _column(Recipient, "decline_reason")] | None = None


class DocumentEntry(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A document in the file; fields have the names of columns, except the last four."""

    id: UUID = NO_ID
    title: Annotated[str, _column(Document, "title")]
    status: Document.Status
    file_name: Annotated[str, _column(Document, "file_name")]
    page_count: Integer = 0
    file_size: Any = None
    signing_order: Document.SigningOrder
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
    """The document of a line.

    Raises:
        Invalid: it is not one; the text has the path of the first field that is wrong.
    """
    if rb"\u0000" in line:
        raise Invalid("has a NUL character, which PostgreSQL does not store")
    try:
        document = msgspec.json.decode(line, type=DocumentEntry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        text = re.sub(r"(.*) - at `\$\.(.*)`", r"\2: \1", str(exc), flags=re.DOTALL)
        raise Invalid(text) from None
    for problem in _broken_rules(document):
        raise Invalid(problem)
    return document


def _broken_rules(document: DocumentEntry) -> Iterator[str]:
    """What is wrong with fields that have the right type."""
    for path, text in (("title", document.title), ("fileName", document.file_name)):
        if not text.strip():
            yield f"{path}: must not be blank"
    yield from _bad_times(document)
    for number, recipient in enumerate(document.recipients):
        recipient.decline_reason = recipient.decline_reason or None
        yield from _bad_times(recipient, f"recipients[{number}].")
        if not is_address(recipient.email):
            yield f"recipients[{number}].email: must have one @, and no spaces"
    completed = document.status is Document.Status.COMPLETED
    if completed and document.completed_at is None:
        yield "completedAt: is required for a COMPLETED document"
    required = {"original", "signed", "certificate"} if completed else {"original"}
    if {file_type for file_type, name in document.files.items() if name} != required:
        yield "files: must be the original, and of a COMPLETED document signed and certificate too"


def _bad_times(struct: Struct, prefix: str = "") -> Iterator[str]:
    """In UTC, an hour of the first or last year may be in a year that Python does not have."""
    for column, name in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        value = getattr(struct, column)
        if isinstance(value, datetime) and not 1 < value.year < 9999:
            yield f"{prefix}{name}: must be in the years 2 to 9998"
