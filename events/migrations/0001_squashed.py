from pathlib import Path

from django.db import migrations, models
from django.db.models.functions import Now

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


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("events", "0001_events"),
        ("events", "0002_quicker_trigger"),
        ("events", "0003_guarded_functions"),
    ]

    dependencies = [("documents", "0001_squashed")]

    operations = [
        migrations.CreateModel(
            name="Generation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("transaction", models.BigIntegerField()),
                ("uuid", models.UUIDField()),
                ("workspace_id", models.UUIDField()),
                ("type", models.CharField(max_length=30, choices=TYPES)),
                ("occurred_at", models.DateTimeField(db_default=Now())),
                ("document_id", models.UUIDField()),
                ("status", models.CharField(max_length=20)),
            ],
            options={
                "indexes": [
                    models.Index("workspace_id", "type", "transaction", "id", name="event_next"),
                    models.Index("document_id", "transaction", name="event_of_document"),
                ],
            },
        ),
        migrations.RunSQL(TRIGGERS.read_text()),
    ]
