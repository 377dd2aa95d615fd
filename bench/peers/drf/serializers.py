"""Nested model serializers."""

from typing import Any

from rest_framework import serializers

from documents.models import Document, Recipient


class RecipientSerializer(serializers.ModelSerializer[Recipient]):
    sentAt = serializers.DateTimeField(source="sent_at")  # noqa: N815 - the API's names
    viewedAt = serializers.DateTimeField(source="viewed_at")  # noqa: N815
    completedAt = serializers.DateTimeField(source="completed_at")  # noqa: N815
    declinedAt = serializers.DateTimeField(source="declined_at")  # noqa: N815
    declineReason = serializers.CharField(source="decline_reason")  # noqa: N815

    class Meta:
        model = Recipient
        fields = (
            "id",
            "name",
            "email",
            "role",
            "status",
            "order",
            "sentAt",
            "viewedAt",
            "completedAt",
            "declinedAt",
            "declineReason",
        )


class DocumentSerializer(serializers.ModelSerializer[Document]):
    fileName = serializers.CharField(source="file_name")  # noqa: N815
    pageCount = serializers.IntegerField(source="page_count")  # noqa: N815
    fileSize = serializers.IntegerField(source="file_size")  # noqa: N815
    signingOrder = serializers.CharField(source="signing_order")  # noqa: N815
    createdAt = serializers.DateTimeField(source="created_at")  # noqa: N815
    sentAt = serializers.DateTimeField(source="sent_at")  # noqa: N815
    completedAt = serializers.DateTimeField(source="completed_at")  # noqa: N815
    expiresAt = serializers.DateTimeField(source="expires_at")  # noqa: N815
    progress = serializers.SerializerMethodField()
    recipients = RecipientSerializer(many=True)
    links = serializers.SerializerMethodField()

    class Meta:
        model = Document
        fields = (
            "id",
            "title",
            "status",
            "fileName",
            "pageCount",
            "fileSize",
            "signingOrder",
            "createdAt",
            "sentAt",
            "completedAt",
            "expiresAt",
            "progress",
            "recipients",
            "links",
        )

    def get_progress(self, document: Document) -> dict[str, int]:
        asked = [r for r in document.recipients.all() if r.role in ("SIGNER", "APPROVER")]
        done = [r for r in asked if r.status in ("SIGNED", "APPROVED")]
        return {"done": len(done), "total": len(asked)}

    def get_links(self, document: Document) -> dict[str, Any]:
        path = f"/api/v1/documents/{document.pk}"
        return {"self": path, "download": f"{path}/download"}
