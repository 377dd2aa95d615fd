from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models.functions import Now
from django.utils import timezone

from events.webhooks.models import default_types

TRIGGERS = Path(__file__).parents[1] / "triggers.sql"
TYPES = [
    ("document.created", "Created"),
    ("document.sent", "Sent"),
    ("document.viewed", "Viewed"),
    ("document.partially_signed", "Partially Signed"),
    ("document.completed", "Completed"),
    ("document.declined", "Declined"),
    ("document.expired", "Expired"),
    ("document.cancelled", "Cancelled"),
    ("document.deleted", "Deleted"),
]
STATES = [("PENDING", "Pending"), ("DELIVERED", "Delivered"), ("FAILED", "Failed")]
PENDING = models.Q(state="PENDING")
NEWEST_FIRST = (models.F("created_at").desc(), models.F("id").desc())


class Migration(migrations.Migration):
    initial = True

    replaces = [("webhooks", "0001_webhooks"), ("webhooks", "0002_quicker_trigger")]

    dependencies = [
        ("events", "0001_squashed"),
        ("workspaces", "0001_squashed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Process",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, unique=True)),
                ("seen_at", models.DateTimeField(db_default=Now())),
            ],
        ),
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        primary_key=True, serialize=False, default=uuid4, editable=False
                    ),
                ),
                ("url", models.CharField(max_length=500)),
                (
                    "types",
                    ArrayField(
                        models.CharField(max_length=30, choices=TYPES), default=default_types
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("disabled_reason", models.CharField(max_length=200, blank=True)),
                ("disabled_at", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("secret", models.CharField(max_length=500)),
                ("previous_secret", models.CharField(max_length=500, blank=True)),
                ("previous_secret_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=timezone.now)),
                ("deleted_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        "workspaces.workspace", models.CASCADE, related_name="endpoints"
                    ),
                ),
            ],
            options={
                "verbose_name": "webhook endpoint",
                "verbose_name_plural": "webhooks",
                "indexes": [
                    models.Index(
                        "workspace",
                        condition=models.Q(enabled=True, deleted_at=None),
                        name="endpoint_enabled",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("event_id", models.UUIDField()),
                ("type", models.CharField(max_length=30)),
                ("occurred_at", models.DateTimeField()),
                ("document_id", models.UUIDField()),
                ("status", models.CharField(max_length=20)),
                ("sequence", models.BigIntegerField()),
                ("state", models.CharField(max_length=10, choices=STATES, default="PENDING")),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("failures", models.PositiveSmallIntegerField(db_default=0)),
                ("next_attempt_at", models.DateTimeField(null=True, db_default=Now())),
                ("claim", models.UUIDField(null=True)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
                (
                    "endpoint",
                    models.ForeignKey(
                        "webhooks.endpoint",
                        models.CASCADE,
                        related_name="deliveries",
                        db_index=False,
                    ),
                ),
            ],
            options={
                "verbose_name": "webhook delivery",
                "verbose_name_plural": "webhook deliveries",
                "indexes": [
                    models.Index(
                        "endpoint", "next_attempt_at", "id", condition=PENDING, name="delivery_due"
                    ),
                    models.Index(
                        "endpoint",
                        "claimed_until",
                        condition=models.Q(claimed_until__isnull=False),
                        name="delivery_claimed",
                    ),
                    models.Index(
                        "endpoint",
                        "document_id",
                        "sequence",
                        condition=PENDING & models.Q(attempts=0),
                        name="delivery_first_attempt",
                    ),
                    models.Index("endpoint", *NEWEST_FIRST, name="delivery_newest"),
                    models.Index("endpoint", "state", *NEWEST_FIRST, name="delivery_state_newest"),
                    models.Index("event_id", name="delivery_event"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("started_at", models.DateTimeField()),
                ("milliseconds", models.PositiveIntegerField()),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("response", models.CharField(max_length=1000, blank=True)),
                ("error", models.CharField(max_length=200, blank=True)),
                (
                    "delivery",
                    models.ForeignKey(
                        "webhooks.delivery",
                        models.CASCADE,
                        related_name="attempt_set",
                        db_index=False,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=["delivery", "number"], name="attempt_number"),
                ],
            },
        ),
        migrations.RunSQL(TRIGGERS.read_text()),
    ]
