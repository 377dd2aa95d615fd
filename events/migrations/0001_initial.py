from pathlib import Path

import django.db.models.functions.datetime
from django.db import migrations, models


FOLDER = Path(__file__).parents[1]


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ("documents", "0001_initial"),  # the triggers are on its table
    ]

    operations = [
        migrations.CreateModel(
            name='Generation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('transaction', models.BigIntegerField()),
                ('uuid', models.UUIDField()),
                ('workspace_id', models.UUIDField()),
                ('type', models.CharField(choices=[('document.created', 'Created'), ('document.sent', 'Sent'), ('document.viewed', 'Viewed'), ('document.partially_signed', 'Partially Signed'), ('document.completed', 'Completed'), ('document.declined', 'Declined'), ('document.expired', 'Expired'), ('document.cancelled', 'Cancelled'), ('document.deleted', 'Deleted')], max_length=30)),
                ('occurred_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('document_id', models.UUIDField()),
                ('status', models.CharField(max_length=20)),
            ],
            options={
                'indexes': [models.Index(models.F('workspace_id'), models.F('type'), models.F('transaction'), models.F('id'), name='event_next'), models.Index(models.F('document_id'), models.F('transaction'), name='event_of_document')],
            },
        ),
        migrations.RunSQL((FOLDER / "triggers.sql").read_text()),
    ]
