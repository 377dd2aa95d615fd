"""What a document of the file must look like: structs, and rules that these do not express."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models
from msgspec import Meta, Struct, field

from config.runtime.key_format import contains_raw_key
from documents.importing.problems import Invalid
from documents.models import Document, Recipient

# The API returns all recipients of a document together: this bounds the size of a response.
MAX_RECIPIENTS = 1000


def _column(model: type[models.Model], name: str) -> Meta:
    return Meta(max_length=model._meta.get_field(name).max_length)  # type: ignore[union-attr]


Time = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=1)]


class RecipientEntry(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A recipient in the file; fields have the names of columns."""

    id: UUID = field(default_factory=uuid4)
    name: Annotated[str, _column(Recipient, "name")]
    email: Annotated[str, _column(Recipient, "email")]
    role: Recipient.Role
    status: Recipient.Status
    order: Annotated[int, Meta(ge=0, le=2**31 - 1)]  # as the column
    sent_at: Time | None = None
    viewed_at: Time | None = None
    completed_at: Time | None = None
    declined_at: Time | None = None
    decline_reason: Annotated[str, _column(Recipient, "decline_reason")] | None = None


class FileNames(Struct, forbid_unknown_fields=True):
    """The paths of a document's PDFs."""

    original: str
    signed: str | None = None
    certificate: str | None = None


class DocumentEntry(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A document in the file; fields have the names of columns, except the last four."""

    id: UUID = field(default_factory=uuid4)
    title: Annotated[str, _column(Document, "title")]
    status: Document.Status
    file_name: Annotated[str, _column(Document, "file_name")]
    page_count: Count = 0  # not given; read from the original, as the next one
    file_size: Count = 0
    signing_order: Document.SigningOrder
    created_at: Time
    sent_at: Time | None = None
    completed_at: Time | None = None
    expires_at: Time | None = None
    deleted_at: Time | None = None
    recipients: Annotated[list[RecipientEntry], Meta(max_length=MAX_RECIPIENTS)]
    files: FileNames
    progress: Any = None  # ignored, as the next one
    links: Any = None


def read(line: bytes) -> DocumentEntry:
    """The document of a line.

    Raises:
        Invalid: it is not one; the text has the path of the first field that is wrong.
    """
    try:
        document = msgspec.json.decode(line, type=DocumentEntry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        text = re.sub(r"(.*) - at `\$\.(.*)`", r"\2: \1", str(exc), flags=re.DOTALL)
        raise Invalid(text) from None
    for path, text in _broken_rules(document):
        raise Invalid(f"{path}: {text}")
    return document


def _broken_rules(document: DocumentEntry) -> Iterator[tuple[str, str]]:
    """The path of each field that breaks a rule, and what is wrong with it."""
    yield from _bad_values(document)
    yield from _bad_values(document.files, "files.")
    # Both are copied to the audit log, which keeps them for ever.
    for path, text in (("title", document.title), ("fileName", document.file_name)):
        if contains_raw_key(text):
            yield path, "must not contain an API key; if it is in use, revoke it"
    for number, recipient in enumerate(document.recipients):
        yield from _bad_values(recipient, f"recipients[{number}].")
        try:
            validate_email(recipient.email)
        except ValidationError:
            yield f"recipients[{number}].email", "must be an e-mail address"
    completed = document.status is Document.Status.COMPLETED
    if completed and document.completed_at is None:
        yield "completedAt", "is required for a COMPLETED document"
    for file_type in ("signed", "certificate"):
        given = getattr(document.files, file_type) is not None
        if completed and not given:
            yield f"files.{file_type}", "is required for a COMPLETED document"
        elif given and not completed:
            yield f"files.{file_type}", "must be absent unless the status is COMPLETED"


def _bad_values(struct: Struct, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Texts and times that no column can have, or that mean nothing."""
    for column, name in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        value = getattr(struct, column)
        if isinstance(value, str) and (not value.strip() or "\0" in value):
            yield prefix + name, "must not be blank or have a NUL character"
        # In UTC, an hour of the first or last year may be in a year that Python does not have.
        if isinstance(value, datetime) and not 1 < value.year < 9999:
            yield prefix + name, "must be in the years 2 to 9998"
