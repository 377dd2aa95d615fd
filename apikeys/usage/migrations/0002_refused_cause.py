from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("apikeys", "0001_squashed"),
        ("documents", "0001_squashed"),
        ("usage", "0001_squashed"),
    ]

    operations = [
        # Processes of the release before do not write it.
        migrations.AddField(
            "refusedrequest", "cause", models.CharField(blank=True, db_default="", max_length=50)
        ),
        # The columns stay as they are: foreign keys without a constraint.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("refusedrequest", "document_id"),
                migrations.RemoveField("refusedrequest", "key_id"),
                *(
                    migrations.AddField(
                        "refusedrequest",
                        name,
                        models.ForeignKey(
                            to,
                            null=True,
                            on_delete=models.DO_NOTHING,
                            db_constraint=False,
                            db_index=False,
                            related_name="+",
                        ),
                    )
                    for name, to in (("key", "apikeys.apikey"), ("document", "documents.document"))
                ),
            ]
        ),
    ]
