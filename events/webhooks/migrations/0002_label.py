from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_squashed")]

    operations = [
        # Processes of the release before do not write it.
        migrations.AddField(
            "endpoint", "label", models.CharField(blank=True, db_default="", max_length=100)
        ),
    ]
