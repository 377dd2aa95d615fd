from pathlib import Path

from django.db import migrations, models

SEARCH = Path(__file__).parents[1] / "search.sql"


class Migration(migrations.Migration):
    dependencies = [("documents", "0002_without_pgtrigger")]

    operations = [
        migrations.AddField("recipient", "workspace_id", models.UUIDField(null=True, editable=False)),
        migrations.AddField(
            "recipient", "document_created_at", models.DateTimeField(null=True, editable=False)
        ),
        migrations.CreateModel(
            "TitleWord",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id",
                        "word",
                        "created_at",
                        "document_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("word", models.CharField(max_length=60, db_collation="C")),
                ("created_at", models.DateTimeField()),
                ("document_id", models.UUIDField()),
            ],
        ),
        migrations.RunSQL(SEARCH.read_text(), ""),
    ]
