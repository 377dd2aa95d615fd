"""The API's objects for documents: the only definition of their fields.

Responses are encoded from these structs, and the OpenAPI document's schemas are generated from
them (`config.api.schema.structs`). The fields are in the specification's order. Structs are made
from plain rows: for a page of documents they cost a tenth of dicts, which cost a tenth of nested
model serializers.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from django.db.models import TextChoices
from msgspec import Meta, Struct, field

from config.runtime.database import Row
from documents import models

# SPEC: progress counts those asked to sign or approve; CC and VIEWER are not.
ASKED = frozenset({models.RecipientRole.SIGNER.value, models.RecipientRole.APPROVER.value})
DONE = frozenset({models.RecipientStatus.SIGNED.value, models.RecipientStatus.APPROVED.value})

Id = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]  # text in the rows already
Time = Annotated[datetime, Meta(tz=True)]


def one_of(choices: type[TextChoices], text: str, **meanings: str) -> Meta:
    """An enum; its component in the OpenAPI document has the name of the class of the choices.

    Args:
        meanings: what each value means, listed below the text.
    """
    listed = "\n".join(f"- `{choices(value)}`: {meaning}" for value, meaning in meanings.items())
    return Meta(
        description=f"{text}\n\n{listed}".rstrip(),
        extra_json_schema={"title": choices.__name__, "enum": choices.values},
    )


class Recipient(Struct, rename="camel", gc=False):
    """One recipient of a document: what they are asked to do, and how far they are."""

    # Each field is named as its column.
    id: Id
    name: Annotated[str, Meta(description="The recipient's name.")]
    email: Annotated[str, Meta(description="The recipient's e-mail address.")]
    role: Annotated[
        str,
        one_of(
            models.RecipientRole,
            "What the recipient is asked to do. `CC` and `VIEWER` are not asked for anything.",
        ),
    ]
    status: Annotated[
        str,
        one_of(
            models.RecipientStatus,
            "How far the recipient is.",
            PENDING="not notified yet: the document is a draft, or in a sequential order it is "
            "not this recipient's turn.",
            SENT="notified.",
            VIEWED="has looked at the document.",
            SIGNED="has signed.",
            APPROVED="has approved.",
            DECLINED="has declined; `declineReason` may say why.",
            BOUNCED="notified, but the message could not be delivered.",
        ),
    ]
    order: Annotated[int, Meta(ge=0, description="Position in the signing order.")]
    sent_at: Annotated[Time | None, Meta(description="When the recipient was notified.")]
    viewed_at: Annotated[Time | None, Meta(description="When the recipient looked at it.")]
    completed_at: Annotated[
        Time | None, Meta(description="When this recipient signed or approved.")
    ]
    declined_at: Annotated[Time | None, Meta(description="When this recipient declined.")]
    decline_reason: Annotated[str | None, Meta(description="Why, in the recipient's words.")]


class Progress(Struct, gc=False):
    """How many of the recipients asked to sign or approve have done so.

    Recipients with the role CC or VIEWER are not counted.
    """

    done: Annotated[int, Meta(ge=0, description="How many have signed or approved.")]
    total: Annotated[int, Meta(ge=0, description="How many were asked to.")]


class Links(Struct, gc=False):
    """Paths of the document and its file on this server."""

    itself: Annotated[str, Meta(description="The path of this document.")] = field(name="self")
    download: Annotated[str, Meta(description="The path of its PDF.")]


class DocumentColumns(Struct, rename="camel", gc=False):
    """The fields of a document that are columns of its own row; named as these."""

    id: Annotated[Id, Meta(description="The document's identifier.")]
    title: str
    status: Annotated[
        str,
        one_of(
            models.DocumentStatus,
            "How far the document is.",
            DRAFT="not sent yet.",
            SENT="sent to its recipients.",
            VIEWED="viewed by a recipient; nobody has signed or approved it yet.",
            PARTIALLY_SIGNED="signed or approved by some of those asked, not by all.",
            COMPLETED="everyone has finished; the signed PDF and the certificate exist.",
            DECLINED="a recipient has declined.",
            EXPIRED="not finished by everyone in time (`expiresAt`).",
            CANCELLED="called off before everyone had finished.",
        ),
    ]
    file_name: Annotated[str, Meta(description="The name of the file as uploaded.")]
    page_count: Annotated[int, Meta(ge=1, description="Pages of the file as uploaded.")]
    file_size: Annotated[
        int,
        Meta(
            ge=1,
            description="Bytes of the file as uploaded.",
            extra_json_schema={"format": "int64"},
        ),
    ]
    signing_order: Annotated[
        str,
        one_of(
            models.SigningOrder,
            "Whether the recipients are asked all at once or one after the other.",
        ),
    ]
    created_at: Time
    sent_at: Annotated[Time | None, Meta(description="When it was sent; null before.")]
    completed_at: Annotated[
        Time | None, Meta(description="When everyone had finished; null before.")
    ]
    expires_at: Annotated[Time | None, Meta(description="When it expires; null when it does not.")]


class WorkspaceDocument(DocumentColumns, rename="camel", gc=False):
    """One document with its recipients."""

    progress: Progress
    recipients: list[Recipient]
    links: Links


class DocumentAnswer(Struct, gc=False):
    """The response of GET /documents/{id}."""

    data: WorkspaceDocument


class DocumentPage(Struct, rename="camel", gc=False):
    """The response of GET /documents: one page, newest first."""

    data: list[WorkspaceDocument]
    next_cursor: Annotated[
        str | None,
        Meta(
            description="Pass it as `cursor` for the next page; null when no more documents exist."
        ),
    ]


DOCUMENT_COLUMNS = DocumentColumns.__struct_fields__
RECIPIENT_COLUMNS = Recipient.__struct_fields__


def progress(recipients: Iterable[models.Recipient | Recipient]) -> Progress:
    """The progress of one document with these recipients."""
    done = total = 0
    for recipient in recipients:
        if recipient.role in ASKED:
            total += 1
            done += recipient.status in DONE
    return Progress(done, total)


def links(id: str) -> Links:
    """The links of a document."""
    path = f"/api/v1/documents/{id}"
    return Links(path, f"{path}/download")


def document_object(row: Row, recipients: Iterable[Row]) -> WorkspaceDocument:
    """A document, from a row of DOCUMENT_COLUMNS, and rows of RECIPIENT_COLUMNS with its id
    behind them."""
    objects = [Recipient(*recipient[:-1]) for recipient in recipients]
    values: Row = (*row, progress(objects), objects, links(row[0]))
    return WorkspaceDocument(*values)
