from django.db import migrations, models

NEWEST_FIRST = (models.F("created_at").desc(), models.F("id").desc())


class Migration(migrations.Migration):
    initial = True

    dependencies = [("documents", "0001_squashed")]

    operations = [
        migrations.CreateModel(
            name="KeyAddress",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "key_id", "address", blank=True, editable=False, serialize=False
                    ),
                ),
                ("key_id", models.UUIDField()),
                ("address", models.CharField(max_length=45)),
                ("user_agent", models.CharField(max_length=500, blank=True)),
                ("last_seen", models.DateTimeField()),
                ("requests", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="KeyUsage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "key_id", "day", blank=True, editable=False, serialize=False
                    ),
                ),
                ("key_id", models.UUIDField()),
                ("day", models.DateField()),
                ("workspace_id", models.UUIDField()),
                ("ok", models.BigIntegerField()),
                ("errors", models.BigIntegerField()),
                ("limited", models.BigIntegerField()),
                ("downloads", models.BigIntegerField()),
            ],
            options={
                "indexes": [models.Index("day", "workspace_id", name="usage_day_workspace")],
            },
        ),
        migrations.CreateModel(
            name="RefusedRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("request_id", models.CharField(max_length=32)),
                ("status", models.PositiveSmallIntegerField()),
                ("response_text", models.CharField(max_length=500)),
                ("cause", models.CharField(max_length=50, blank=True)),
                ("reason", models.CharField(max_length=500)),
                ("more", models.BigIntegerField(default=0)),
                ("key_id", models.UUIDField(null=True)),
                ("key_name", models.CharField(max_length=100, blank=True)),
                ("key_prefix", models.CharField(max_length=12, blank=True)),
                ("workspace_id", models.UUIDField(null=True)),
                ("workspace_name", models.CharField(max_length=200, blank=True)),
                (
                    "document",
                    models.ForeignKey(
                        "documents.document",
                        null=True,
                        on_delete=models.DO_NOTHING,
                        db_constraint=False,
                        db_index=False,
                        related_name="+",
                    ),
                ),
                ("address", models.CharField(max_length=45, blank=True)),
                ("user_agent", models.CharField(max_length=500, blank=True)),
                ("method", models.CharField(max_length=20)),
                ("path", models.CharField(max_length=500)),
            ],
            options={
                "verbose_name": "refused request",
                "indexes": [
                    models.Index(*NEWEST_FIRST, name="refused_newest"),
                    models.Index("status", *NEWEST_FIRST, name="refused_status"),
                    models.Index("key_id", *NEWEST_FIRST, name="refused_key"),
                    models.Index("key_id", "status", *NEWEST_FIRST, name="refused_key_status"),
                    models.Index("workspace_id", *NEWEST_FIRST, name="refused_workspace"),
                    models.Index(
                        "workspace_id", "status", *NEWEST_FIRST, name="refused_workspace_status"
                    ),
                    models.Index(
                        *NEWEST_FIRST,
                        condition=models.Q(key_id__isnull=False),
                        name="refused_of_keys",
                    ),
                    models.Index(
                        "document_id",
                        *NEWEST_FIRST,
                        condition=models.Q(document_id__isnull=False),
                        name="refused_document",
                    ),
                    models.Index(fields=["request_id"], name="refused_request"),
                ],
            },
        ),
    ]
