from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("usage", "0002_refused_cause")]

    operations = [
        migrations.CreateModel(
            name="Traffic",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "period", "milliseconds", blank=True, editable=False, serialize=False
                    ),
                ),
                ("period", models.DateTimeField()),
                ("milliseconds", models.PositiveIntegerField()),
                ("requests", models.BigIntegerField()),
                ("failed", models.BigIntegerField()),
            ],
        ),
    ]
