from pathlib import Path
from uuid import uuid4

from django.db import migrations, models
from django.utils import timezone

TRIGGERS = Path(__file__).parents[1] / "triggers.sql"
STATUSES = [
    ("DRAFT", "Draft"),
    ("SENT", "Sent"),
    ("VIEWED", "Viewed"),
    ("PARTIALLY_SIGNED", "Partially signed"),
    ("COMPLETED", "Completed"),
    ("DECLINED", "Declined"),
    ("EXPIRED", "Expired"),
    ("CANCELLED", "Cancelled"),
]
SIGNING_ORDERS = [("PARALLEL", "Parallel"), ("SEQUENTIAL", "Sequential")]
ROLES = [("SIGNER", "Signer"), ("APPROVER", "Approver"), ("CC", "Cc"), ("VIEWER", "Viewer")]
RECIPIENT_STATUSES = [
    ("PENDING", "Pending"),
    ("SENT", "Sent"),
    ("VIEWED", "Viewed"),
    ("SIGNED", "Signed"),
    ("APPROVED", "Approved"),
    ("DECLINED", "Declined"),
    ("BOUNCED", "Bounced"),
]
NEWEST_FIRST = (models.F("created_at").desc(), models.F("id").desc())


def one_of(field, choices, name):
    values = [value for value, _ in choices]
    return models.CheckConstraint(condition=models.Q((f"{field}__in", values)), name=name)


def file(**options):
    return models.OneToOneField(
        "documents.storedfile", models.PROTECT, related_name="+", **options
    )


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("documents", "0001_initial"),
        ("documents", "0002_admin_index"),
        ("documents", "0003_document_counts"),
        ("documents", "0004_checked_at"),
        ("documents", "0005_checked_at_index"),
        ("documents", "0006_count_triggers"),
    ]

    dependencies = [("workspaces", "0001_squashed")]

    operations = [
        migrations.CreateModel(
            name="StoredFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("object_key", models.CharField(max_length=100, unique=True)),
                ("size", models.BigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=timezone.now)),
                ("checked_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        models.F("checked_at").asc(nulls_first=True),
                        "id",
                        name="storedfile_unchecked",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Document",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        primary_key=True, serialize=False, default=uuid4, editable=False
                    ),
                ),
                ("title", models.CharField(max_length=500)),
                ("status", models.CharField(max_length=20, choices=STATUSES, default="DRAFT")),
                ("file_name", models.CharField(max_length=255)),
                ("page_count", models.PositiveIntegerField()),
                ("file_size", models.BigIntegerField()),
                ("signing_order", models.CharField(max_length=20, choices=SIGNING_ORDERS)),
                ("created_at", models.DateTimeField(default=timezone.now)),
                ("sent_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("deleted_at", models.DateTimeField(null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        "workspaces.workspace", models.CASCADE, related_name="documents"
                    ),
                ),
                ("certificate", file(null=True)),
                ("original", file()),
                ("signed", file(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        "workspace",
                        *NEWEST_FIRST,
                        condition=models.Q(deleted_at=None),
                        name="document_newest",
                    ),
                    models.Index(
                        "workspace",
                        "status",
                        *NEWEST_FIRST,
                        condition=models.Q(deleted_at=None),
                        name="document_status_newest",
                    ),
                    models.Index(*NEWEST_FIRST, name="document_all_newest"),
                ],
                "constraints": [
                    one_of("status", STATUSES, "document_status"),
                    one_of("signing_order", SIGNING_ORDERS, "document_signing_order"),
                    models.CheckConstraint(
                        condition=models.Q(page_count__gte=1, file_size__gte=1),
                        name="document_has_pages",
                    ),
                    models.CheckConstraint(
                        condition=~models.Q(status="COMPLETED")
                        | models.Q(
                            signed__isnull=False,
                            certificate__isnull=False,
                            completed_at__isnull=False,
                        ),
                        name="document_complete_has_files",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Recipient",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        primary_key=True, serialize=False, default=uuid4, editable=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("email", models.CharField(max_length=254)),
                ("role", models.CharField(max_length=10, choices=ROLES)),
                (
                    "status",
                    models.CharField(max_length=10, choices=RECIPIENT_STATUSES, default="PENDING"),
                ),
                ("order", models.PositiveIntegerField()),
                ("sent_at", models.DateTimeField(null=True)),
                ("viewed_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
                ("declined_at", models.DateTimeField(null=True)),
                ("decline_reason", models.CharField(max_length=2000, null=True)),
                (
                    "document",
                    models.ForeignKey(
                        "documents.document", models.CASCADE, related_name="recipients"
                    ),
                ),
            ],
            options={
                "constraints": [
                    one_of("role", ROLES, "recipient_role"),
                    one_of("status", RECIPIENT_STATUSES, "recipient_status"),
                ],
            },
        ),
        migrations.RunSQL(TRIGGERS.read_text()),
    ]
