from pathlib import Path

from django.db import migrations, models
from django.db.models.functions import Collate, Now, Upper

TRIGGERS = Path(__file__).parents[1] / "triggers.sql"
NEWEST_FIRST = (models.F("created_at").desc(), models.F("id").desc())
NO_DOWNLOADS = ~models.Q(action__in=("document.downloaded", "document.download_ended"))
LISTED = ~models.Q(action="document.download_ended")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("audit", "0001_initial"),
        ("audit", "0002_history_indexes"),
        ("audit", "0003_audit_log"),
        ("audit", "0004_append_only"),
        ("audit", "0005_longer_detail"),
        ("audit", "0006_actions_of_the_console"),
        ("audit", "0007_search_indexes"),
        ("audit", "0008_webhook_actions"),
        ("audit", "0009_labels_in_python"),
        ("audit", "0010_guarded_function"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=Now(), editable=False)),
                ("action", models.CharField(max_length=40)),
                ("workspace_id", models.UUIDField(null=True)),
                ("workspace_name", models.CharField(max_length=200, blank=True)),
                ("person", models.CharField(max_length=254, blank=True)),
                ("member", models.CharField(max_length=254, blank=True)),
                ("detail", models.CharField(max_length=1000, blank=True)),
                ("key_id", models.UUIDField(null=True)),
                ("key_name", models.CharField(max_length=100, blank=True)),
                ("key_prefix", models.CharField(max_length=12, blank=True)),
                ("document_id", models.UUIDField(null=True)),
                ("document_title", models.CharField(max_length=500, blank=True)),
                ("file_type", models.CharField(max_length=20, blank=True)),
                ("file_sha256", models.CharField(max_length=64, blank=True)),
                ("byte_range", models.CharField(max_length=60, blank=True)),
                ("bytes_sent", models.BigIntegerField(null=True)),
                ("address", models.CharField(max_length=45, blank=True)),
                ("user_agent", models.CharField(max_length=500, blank=True)),
                ("request_id", models.CharField(max_length=32, blank=True)),
                ("occurred_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "audit log",
                "indexes": [
                    models.Index(*NEWEST_FIRST, name="audit_newest"),
                    models.Index("workspace_id", *NEWEST_FIRST, name="audit_workspace_newest"),
                    models.Index(
                        "action", *NEWEST_FIRST, condition=NO_DOWNLOADS, name="audit_action_newest"
                    ),
                    models.Index(
                        "workspace_id",
                        "action",
                        *NEWEST_FIRST,
                        condition=NO_DOWNLOADS,
                        name="audit_workspace_action",
                    ),
                    models.Index(
                        "document_id",
                        *NEWEST_FIRST,
                        condition=models.Q(document_id__isnull=False),
                        name="audit_document_newest",
                    ),
                    models.Index("key_id", *NEWEST_FIRST, name="audit_key_newest"),
                    models.Index(
                        "key_prefix",
                        *NEWEST_FIRST,
                        condition=LISTED,
                        name="audit_key_prefix_listed",
                    ),
                    models.Index(
                        Collate(Upper("person"), "C"),
                        *NEWEST_FIRST,
                        condition=~models.Q(person=""),
                        name="audit_person_listed",
                    ),
                    models.Index(
                        Collate(Upper("member"), "C"),
                        *NEWEST_FIRST,
                        condition=~models.Q(member=""),
                        name="audit_member_listed",
                    ),
                    models.Index(
                        "address",
                        *NEWEST_FIRST,
                        condition=LISTED & ~models.Q(address=""),
                        name="audit_address_listed",
                    ),
                    models.Index("request_id", name="audit_request"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Leaf",
            fields=[
                ("index", models.BigIntegerField(primary_key=True, serialize=False)),
                ("entry_id", models.BigIntegerField(unique=True)),
                ("hash", models.BinaryField(max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name="Subtree",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "level", "index", blank=True, editable=False, serialize=False
                    ),
                ),
                ("level", models.SmallIntegerField()),
                ("index", models.BigIntegerField()),
                ("hash", models.BinaryField(max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("size", models.BigIntegerField(primary_key=True, serialize=False)),
                ("sealed_at", models.DateTimeField()),
                ("note", models.TextField()),
                ("complete_to", models.BigIntegerField()),
                ("next_complete_to", models.BigIntegerField()),
                ("next_transaction", models.BigIntegerField()),
            ],
        ),
        migrations.RunSQL(TRIGGERS.read_text()),
    ]
