"""Documents, their recipients, and their files in object storage."""

import re
import uuid
from datetime import UTC, datetime

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone

from audit.models import NEWEST_FIRST
from audit.snapshots import DocumentSnapshot
from workspaces.models import Workspace

EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def are_readable(*times: str) -> models.Q:
    """Whether Python can read these columns: PostgreSQL also has "infinity" and years BC."""
    return models.Q(*((f"{time}__range", (EARLIEST, LATEST)) for time in times))


class StoredFile(models.Model):
    """One PDF in object storage. The object never changes; a new file is a new row."""

    object_key = models.CharField(max_length=100, unique=True)
    size = models.BigIntegerField()  # bytes
    sha256 = models.CharField(max_length=64)  # hex digits, of the whole file
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=are_readable("created_at"), name="storedfile_times"),
            models.CheckConstraint(
                condition=models.Q(sha256__regex="^[0-9a-f]{64}$"), name="storedfile_sha256"
            ),
        ]

    def __str__(self) -> str:
        return self.object_key


NOT_DELETED = models.Q(deleted_at=None)
FILE_TYPES = ("signed", "original", "certificate")  # fields of Document


class DocumentStatus(models.TextChoices):
    DRAFT = "DRAFT"
    SENT = "SENT"
    VIEWED = "VIEWED"
    PARTIALLY_SIGNED = "PARTIALLY_SIGNED", "Partially signed"
    COMPLETED = "COMPLETED"
    DECLINED = "DECLINED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


class SigningOrder(models.TextChoices):
    PARALLEL = "PARALLEL"
    SEQUENTIAL = "SEQUENTIAL"


class Document(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="documents")
    title = models.CharField(max_length=500)
    # For the search, which would otherwise fold the title of each document that it looks at.
    folded_title = models.GeneratedField(
        expression=models.Func("title", function="documents_folded"),
        output_field=models.TextField(),
        db_persist=True,
    )
    status = models.CharField(max_length=20, choices=DocumentStatus, default=DocumentStatus.DRAFT)
    file_name = models.CharField(max_length=255)
    page_count = models.PositiveIntegerField()
    file_size = models.BigIntegerField()  # bytes, of the original
    signing_order = models.CharField(max_length=20, choices=SigningOrder)
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    # Documents that have this are never in the API: `documents.api.documents.VISIBLE`.
    deleted_at = models.DateTimeField(null=True)
    original = models.OneToOneField(StoredFile, models.PROTECT, related_name="+")
    signed = models.OneToOneField(StoredFile, models.PROTECT, null=True, related_name="+")
    certificate = models.OneToOneField(StoredFile, models.PROTECT, null=True, related_name="+")

    class Meta:
        indexes = [
            # GET /documents, any page: keyset from (created_at, id) within one workspace.
            models.Index("workspace", *NEWEST_FIRST, condition=NOT_DELETED, name="document_newest"),
            # GET /documents?status=…
            models.Index(
                "workspace",
                "status",
                *NEWEST_FIRST,
                condition=NOT_DELETED,
                name="document_status_newest",
            ),
            # GET /search: by one of these times; the days or months of a range with documents.
            *(
                models.Index(
                    "workspace",
                    models.F(f"{time}_at").desc(),
                    models.F("id").desc(),
                    condition=models.Q(("deleted_at", None), (f"{time}_at__isnull", False)),
                    name=f"document_{time}",
                )
                for time in ("sent", "completed", "expires")
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=are_readable(
                    "created_at", "sent_at", "completed_at", "expires_at", "deleted_at"
                ),
                name="document_times",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=DocumentStatus.values), name="document_status"
            ),
            models.CheckConstraint(
                condition=models.Q(signing_order__in=SigningOrder.values),
                name="document_signing_order",
            ),
            models.CheckConstraint(
                condition=models.Q(page_count__gte=1, file_size__gte=1), name="document_has_pages"
            ),
            models.CheckConstraint(
                condition=~models.Q(status="COMPLETED")
                | models.Q(
                    signed__isnull=False, certificate__isnull=False, completed_at__isnull=False
                ),
                name="document_complete_has_files",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def snapshot(self) -> DocumentSnapshot:
        return DocumentSnapshot(document_id=self.id, document_title=self.title)


class RecipientRole(models.TextChoices):
    SIGNER = "SIGNER"
    APPROVER = "APPROVER"
    CC = "CC"
    VIEWER = "VIEWER"


class RecipientStatus(models.TextChoices):
    PENDING = "PENDING"
    SENT = "SENT"
    VIEWED = "VIEWED"
    SIGNED = "SIGNED"
    APPROVED = "APPROVED"
    DECLINED = "DECLINED"
    BOUNCED = "BOUNCED"


# A recipient's e-mail address was typed somewhere else, long ago: providers have given out any.
_ADDRESS = re.compile(r"[^@\s\x00-\x1f\x7f-\x9f]+@[^@\s\x00-\x1f\x7f-\x9f]+")


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


class Recipient(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="recipients")
    name = models.CharField(max_length=200)
    email = models.CharField(max_length=254)
    role = models.CharField(max_length=10, choices=RecipientRole)
    status = models.CharField(
        max_length=10, choices=RecipientStatus, default=RecipientStatus.PENDING
    )
    order = models.PositiveIntegerField()  # position in the signing order
    sent_at = models.DateTimeField(null=True)
    viewed_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)  # when this recipient signed or approved
    declined_at = models.DateTimeField(null=True)
    decline_reason = models.CharField(max_length=2000, null=True)  # noqa: DJ001 - the API says null

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=are_readable("sent_at", "viewed_at", "completed_at", "declined_at"),
                name="recipient_times",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=RecipientRole.values), name="recipient_role"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=RecipientStatus.values), name="recipient_status"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"


class Searchable(models.Model):
    """A document that is not deleted, as the search finds it; triggers write it.

    The columns are in the order of `documents_made_searchable` in `documents/search.sql`. There is
    no foreign key: checking it would lock the document for each writer.
    """

    id = models.UUIDField(primary_key=True)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    folded_title = models.TextField()
    tokens = ArrayField(models.BigIntegerField())

    class Meta:
        # A search reads the list of pending entries from end to end, 0.1 ms for 64 kB. Without the
        # list, a change would take half as long again.
        indexes = [GinIndex("tokens", gin_pending_list_limit=64, name="searchable_tokens")]

    def __str__(self) -> str:
        return str(self.id)


class Outdated(models.Model):
    """A change of a document that is not yet in its Searchable, which somebody else had locked.

    It has no workspace if the document was not there: to be added, or deleted.
    """

    document_id = models.UUIDField(db_index=True)
    workspace_id = models.UUIDField(null=True, db_index=True)

    def __str__(self) -> str:
        return str(self.document_id)
