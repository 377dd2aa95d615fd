"""Document and Recipient as the API promises them: each field's name, type and meaning.

The description of the API is made from these classes, and the tests hold the quick writer
(`documents.api.serializers`) against what they write.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from documents.api.serializers import ASKED, DONE
from documents.models import Document, Recipient


def each_means(text: str, meanings: Mapping[Any, str]) -> str:
    """A field's text with a list of what each of its values means."""
    listed = (f"- `{value}`: {meaning}" for value, meaning in meanings.items())
    return "\n".join([text, "", *listed])


DOCUMENT_STATUS = each_means(
    "How far the document is.",
    {
        Document.Status.DRAFT: "not sent yet.",
        Document.Status.SENT: "sent to the people on it.",
        Document.Status.VIEWED: "looked at by someone; nobody has signed or approved it yet.",
        Document.Status.PARTIALLY_SIGNED: "signed or approved by some of those asked, not by all.",
        Document.Status.COMPLETED: "everyone has finished; the signed PDF and the certificate "
        "exist.",
        Document.Status.DECLINED: "someone has declined.",
        Document.Status.EXPIRED: "not finished by everyone in time (`expiresAt`).",
        Document.Status.CANCELLED: "called off before everyone had finished.",
    },
)
RECIPIENT_STATUS = each_means(
    "How far the person is.",
    {
        Recipient.Status.PENDING: "not written to yet: the document is a draft, or in a sequential "
        "order it is not this person's turn.",
        Recipient.Status.SENT: "written to.",
        Recipient.Status.VIEWED: "has looked at the document.",
        Recipient.Status.SIGNED: "has signed.",
        Recipient.Status.APPROVED: "has approved.",
        Recipient.Status.DECLINED: "has declined; `declineReason` may say why.",
        Recipient.Status.BOUNCED: "written to, but the message could not be delivered.",
    },
)


class TimeField(serializers.DateTimeField):
    """An instant in UTC; the renderer writes it, `2026-03-01T09:30:00Z`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(format=None, **kwargs)


@extend_schema_field({"type": "integer", "format": "int64", "minimum": 1})
class BytesField(serializers.IntegerField):
    """A number of bytes; it can exceed 32 bits."""


class RecipientsInOrder(serializers.ListSerializer[Any]):
    """The people on a document, in the signing order."""

    def to_representation(self, data: Any) -> list[Any]:
        return super().to_representation(data.order_by("order", "id"))


class RecipientSerializer(serializers.Serializer[Recipient]):
    """One person on a document, what they are asked to do, and how far they are."""

    id = serializers.UUIDField()
    name = serializers.CharField(help_text="The person's name.")
    email = serializers.CharField(help_text="The person's e-mail address.")
    role = serializers.ChoiceField(
        Recipient.Role.choices,
        help_text="What the person is asked to do. `CC` and `VIEWER` are not asked for anything.",
    )
    status = serializers.ChoiceField(Recipient.Status.choices, help_text=RECIPIENT_STATUS)
    order = serializers.IntegerField(min_value=0, help_text="Position in the signing order.")
    sentAt = TimeField(
        source="sent_at", allow_null=True, help_text="When the person was written to."
    )
    viewedAt = TimeField(
        source="viewed_at", allow_null=True, help_text="When the person looked at it."
    )
    completedAt = TimeField(
        source="completed_at", allow_null=True, help_text="When this person signed or approved."
    )
    declinedAt = TimeField(
        source="declined_at", allow_null=True, help_text="When this person declined."
    )
    declineReason = serializers.CharField(
        source="decline_reason", allow_null=True, help_text="Why, in the person's words."
    )

    class Meta:
        list_serializer_class = RecipientsInOrder


class ProgressSerializer(serializers.Serializer[Any]):
    """How many of the people asked to sign or approve have done so.

    Recipients with the role CC or VIEWER are not counted.
    """

    done = serializers.IntegerField(min_value=0, help_text="How many have signed or approved.")
    total = serializers.IntegerField(min_value=0, help_text="How many were asked to.")

    def to_representation(self, instance: Any) -> dict[str, int]:
        asked = [recipient for recipient in instance.all() if recipient.role in ASKED]
        return {"done": sum(each.status in DONE for each in asked), "total": len(asked)}


class LinksSerializer(serializers.Serializer[Any]):
    """Where a document and its file are, as paths on this server."""

    self = serializers.CharField(help_text="`/api/v1/documents/<id>`")
    download = serializers.CharField(help_text="`/api/v1/documents/<id>/download`")

    def to_representation(self, instance: UUID) -> dict[str, str]:
        path = f"/api/v1/documents/{instance}"
        return {"self": path, "download": f"{path}/download"}


class DocumentSerializer(serializers.Serializer[Document]):
    """One document with the people on it."""

    id = serializers.UUIDField(help_text="The document's identifier.")
    title = serializers.CharField()
    status = serializers.ChoiceField(Document.Status.choices, help_text=DOCUMENT_STATUS)
    fileName = serializers.CharField(
        source="file_name", help_text="The name of the file as uploaded."
    )
    pageCount = serializers.IntegerField(
        source="page_count", min_value=1, help_text="Pages of the file as uploaded."
    )
    fileSize = BytesField(source="file_size", help_text="Bytes of the file as uploaded.")
    signingOrder = serializers.ChoiceField(
        Document.SigningOrder.choices,
        source="signing_order",
        help_text="Whether the people are asked all at once or one after the other.",
    )
    createdAt = TimeField(source="created_at")
    sentAt = TimeField(
        source="sent_at", allow_null=True, help_text="When it was sent; null before."
    )
    completedAt = TimeField(
        source="completed_at", allow_null=True, help_text="When everyone had finished; null before."
    )
    expiresAt = TimeField(
        source="expires_at", allow_null=True, help_text="When it expires; null when it does not."
    )
    progress = ProgressSerializer(source="recipients")
    recipients = RecipientSerializer(many=True)
    links = LinksSerializer(source="id")


class DocumentAnswerSerializer(serializers.Serializer[Any]):
    """The answer of GET /documents/{id}."""

    data = DocumentSerializer()  # type: ignore[assignment]


@extend_schema_serializer(many=False)  # it is the page itself
class DocumentPageSerializer(serializers.Serializer[Any]):
    """The answer of GET /documents: one page, newest first."""

    data = DocumentSerializer(many=True)  # type: ignore[assignment]
    nextCursor = serializers.CharField(
        allow_null=True,
        help_text="Pass it as `cursor` for the next page; null when no more documents exist.",
    )
