"""What a document of the file must look like: as structs, and as rules between their fields.

Each field's description completes the sentence "It must be …", which a problem shows.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, get_args
from uuid import uuid4

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models
from msgspec import Meta, Struct, field

from config.runtime.key_format import contains_raw_key
from documents.api.parameters import FILE_TYPES
from documents.importing.files import CheckedFile, Folder
from documents.importing.problems import Invalid, quoted, unquoted
from documents.models import Document, Recipient

# The API returns all recipients of a document together: this bounds the size of a response, and
# the memory that one document needs during an import.
MAX_RECIPIENTS = 1000
IGNORED = ("progress", "links")
TEXT = r"\A(?=\s*\S)[^\0\ud800-\udfff]*\Z"
# Downloads have the name in a header, where a line break would allow header injection.
FILE_NAME = r"\A(?=\s*\S)[^\0-\x1f\x7f-\x9f\ud800-\udfff]*\Z"
UUID = r"\A[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z"


def _text(length: int, pattern: str = TEXT) -> Meta:
    unwanted = "NUL or lone surrogates" if pattern == TEXT else "control characters or surrogates"
    description = f"a text of 1 to {length} characters, not only white space, without {unwanted}"
    return Meta(max_length=length, pattern=pattern, description=description)


def _column(model: type[models.Model], name: str, pattern: str = TEXT) -> Meta:
    return _text(model._meta.get_field(name).max_length, pattern)  # type: ignore[union-attr, arg-type]


def _one_of(choices: type[models.TextChoices]) -> Meta:
    return Meta(description=f"one of {', '.join(choices.values)}")


Id = Annotated[str, Meta(pattern=UUID, description="a UUID of 36 characters")]
TIME = "an RFC 3339 date and time with its offset, such as 2026-03-01T09:30:00Z"
Time = Annotated[datetime, Meta(tz=True, description=TIME)]
Count = Annotated[int, Meta(ge=1, description="a whole number from 1")]
# The largest value of the column.
Order = Annotated[int, Meta(ge=0, le=2**31 - 1, description="a whole number from 0 to 2147483647")]
LIST = f"a list of at most {MAX_RECIPIENTS:,} objects"
FilePath = Annotated[str, _text(4096)]


class RecipientEntry(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A recipient in the file; fields have the names of columns."""

    id: Id = field(default_factory=lambda: str(uuid4()))
    name: Annotated[str, _column(Recipient, "name")]
    email: Annotated[str, _column(Recipient, "email")]
    role: Annotated[Recipient.Role, _one_of(Recipient.Role)]
    status: Annotated[Recipient.Status, _one_of(Recipient.Status)]
    order: Order
    sent_at: Time | None = None
    viewed_at: Time | None = None
    completed_at: Time | None = None
    declined_at: Time | None = None
    decline_reason: Annotated[str, _column(Recipient, "decline_reason")] | None = None


class FileNames(Struct, forbid_unknown_fields=True):
    """The paths of a document's PDFs."""

    original: FilePath
    signed: FilePath | None = None
    certificate: FilePath | None = None


class DocumentEntry(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A document in the file; fields have the names of columns, except `recipients` and `files`."""

    id: Id = field(default_factory=lambda: str(uuid4()))
    title: Annotated[str, _column(Document, "title")]
    status: Annotated[Document.Status, _one_of(Document.Status)]
    file_name: Annotated[str, _column(Document, "file_name", FILE_NAME)]
    page_count: Count = 0  # not given; `check_files` sets it
    file_size: Count = 0
    signing_order: Annotated[Document.SigningOrder, _one_of(Document.SigningOrder)]
    created_at: Time
    sent_at: Time | None = None
    completed_at: Time | None = None
    expires_at: Time | None = None
    deleted_at: Time | None = None
    recipients: Annotated[list[RecipientEntry], Meta(max_length=MAX_RECIPIENTS, description=LIST)]
    files: Annotated[FileNames, Meta(description=f"an object with {', '.join(FILE_TYPES)}")]


class Record(Struct):
    """A document that can be stored."""

    line: int  # of the file
    label: str  # what problems call the document
    document: DocumentEntry
    files: dict[str, CheckedFile]  # by type


def _descriptions(struct: type[Struct], path: str = "") -> Iterator[tuple[str, str]]:
    for each in msgspec.structs.fields(struct):
        annotated = each.type if hasattr(each.type, "__metadata__") else get_args(each.type)[0]
        yield path + each.encode_name, annotated.__metadata__[0].description


MUST_BE = {
    **dict(_descriptions(DocumentEntry)),
    **dict(_descriptions(FileNames, "files.")),
    "recipients[]": "an object",
    **dict(_descriptions(RecipientEntry, "recipients[].")),
}


def label(value: dict[str, Any]) -> str:
    """What problems call a document."""
    for name in ("id", "title"):
        if isinstance(value.get(name), str):
            return f"document {unquoted(value[name])}"
    return "a document without id and title"


def validate(value: dict[str, Any]) -> DocumentEntry:
    """Reads a JSON object as a document.

    Raises:
        Invalid: it is not one; the text has the path of the first field that is wrong, and what
            it must be.
    """
    value = {name: given for name, given in value.items() if name not in IGNORED}
    try:
        document = msgspec.convert(value, DocumentEntry)
    except msgspec.ValidationError as exc:
        raise Invalid(_plain(str(exc), value)) from None
    except UnicodeEncodeError:
        raise Invalid("a name, a time or a fixed value has a lone surrogate") from None
    for path, text in _broken_rules(document):
        raise Invalid(f"{path}: {text}")
    return document


def _plain(text: str, value: Any) -> str:
    """A message of msgspec in plain words, beginning with the path of the field."""
    wrong_field = (
        r"Object (missing required|contains unknown) field `(.*?)`(?: - at `\$\.([^`]*)`)?"
    )
    if found := re.fullmatch(wrong_field, text, re.DOTALL):
        path = f"{found[3]}.{unquoted(found[2])}" if found[3] else unquoted(found[2])
        return f"{path}: {'is missing' if found[1] == 'missing required' else 'is not a field'}"
    path = text.rpartition("`$.")[2].removesuffix("`")
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        value = value[name or int(index)]
    given = f", not {quoted(value)}" if isinstance(value, str) else ""
    return f"{path}: must be {MUST_BE[re.sub(r'[0-9]+', '', path)]}{given}"


def _broken_rules(document: DocumentEntry) -> Iterator[tuple[str, str]]:
    """The rules that no single field can express: the path of the field, and what is wrong."""
    yield from _bad_years(document)
    # Both are copied to the audit log, which keeps them for ever.
    for path, text in (("title", document.title), ("fileName", document.file_name)):
        if contains_raw_key(text):
            yield path, "must not contain an API key; if it is in use, revoke it"
    for number, recipient in enumerate(document.recipients):
        yield from _bad_years(recipient, f"recipients[{number}].")
        try:
            validate_email(recipient.email)
        except ValidationError:
            address = quoted(recipient.email)
            yield f"recipients[{number}].email", f"must be an e-mail address, not {address}"
    completed = document.status is Document.Status.COMPLETED
    if completed and document.completed_at is None:
        yield "completedAt", "is required for a COMPLETED document"
    for file_type in ("signed", "certificate"):
        given = getattr(document.files, file_type) is not None
        if completed and not given:
            yield f"files.{file_type}", "is required for a COMPLETED document"
        elif given and not completed:
            yield f"files.{file_type}", "must be absent unless the status is COMPLETED"


def _bad_years(struct: Struct, prefix: str = "") -> Iterator[tuple[str, str]]:
    for column, name in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        time = getattr(struct, column)
        # In UTC, an hour of the first or last year may be in a year that Python does not have.
        if isinstance(time, datetime) and not 1 < time.year < 9999:
            yield prefix + name, "must be in the years 2 to 9998"


def check_files(document: DocumentEntry, folder: Folder) -> dict[str, CheckedFile]:
    """The files that a document names, by type; completes its page count and file size.

    Raises:
        Invalid: a file is not a PDF in the folder, or not as the document describes it.
    """
    files = {}
    for file_type in FILE_TYPES:
        name = getattr(document.files, file_type)
        if name is not None:
            try:
                files[file_type] = folder.check(name)
            except Invalid as exc:
                raise Invalid(f"files.{file_type}: {quoted(name)} {exc}") from None
    pages, size = files["original"].pages, files["original"].size
    if document.page_count not in (0, pages):
        raise Invalid(f"pageCount: is {document.page_count}, but the original has {pages}")
    if document.file_size not in (0, size):
        raise Invalid(f"fileSize: is {document.file_size}, but the original has {size}")
    document.page_count, document.file_size = pages, size
    return files
