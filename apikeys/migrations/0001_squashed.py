from uuid import uuid4

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("workspaces", "0001_squashed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        primary_key=True, serialize=False, default=uuid4, editable=False
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("prefix", models.CharField("first characters", max_length=12)),
                ("digest", models.CharField(max_length=64, unique=True, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField("last used", null=True, editable=False)),
                ("revoked_at", models.DateTimeField("revoked", null=True, editable=False)),
                (
                    "created_by",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
                    ),
                ),
                (
                    "revoked_by",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL,
                        models.SET_NULL,
                        null=True,
                        editable=False,
                        related_name="+",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey("workspaces.workspace", models.CASCADE, related_name="keys"),
                ),
                ("expires_at", models.DateTimeField("expires", null=True)),
                (
                    "last_used_address",
                    models.CharField(max_length=45, db_default="", editable=False),
                ),
                (
                    "last_used_client",
                    models.CharField(max_length=500, db_default="", editable=False),
                ),
                (
                    "replaced_by",
                    models.ForeignKey(
                        "apikeys.apikey",
                        models.DO_NOTHING,
                        null=True,
                        editable=False,
                        related_name="+",
                        db_constraint=False,
                        db_index=False,
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
                "indexes": [
                    models.Index(
                        "workspace",
                        models.F("created_at").desc(),
                        models.F("id").desc(),
                        name="apikey_newest",
                    ),
                    models.Index("prefix", name="apikey_prefix"),
                ],
            },
        ),
    ]
