from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import uuid
from django.db import migrations, models


FOLDER = Path(__file__).parents[1]


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('workspaces', '0001_initial'),
        ("events", "0001_initial"),  # the trigger is on its table
    ]

    operations = [
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=500)),
                ('label', models.CharField(blank=True, max_length=100)),
                ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('document.created', 'Created'), ('document.sent', 'Sent'), ('document.viewed', 'Viewed'), ('document.partially_signed', 'Partially Signed'), ('document.completed', 'Completed'), ('document.declined', 'Declined'), ('document.expired', 'Expired'), ('document.cancelled', 'Cancelled'), ('document.deleted', 'Deleted')], max_length=30), size=None)),
                ('enabled', models.BooleanField(default=True)),
                ('disabled_reason', models.CharField(blank=True, max_length=200)),
                ('disabled_at', models.DateTimeField(null=True)),
                ('failing_since', models.DateTimeField(null=True)),
                ('secret', models.CharField(max_length=500)),
                ('previous_secret', models.CharField(blank=True, max_length=500)),
                ('previous_secret_until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('deleted_at', models.DateTimeField(null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='endpoints', to='workspaces.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace_id', models.UUIDField()),
                ('event_id', models.UUIDField()),
                ('type', models.CharField(max_length=30)),
                ('occurred_at', models.DateTimeField()),
                ('document_id', models.UUIDField()),
                ('status', models.CharField(max_length=20)),
                ('sequence', models.BigIntegerField()),
                ('state', models.CharField(choices=[('PENDING', 'Pending, retrying'), ('DELIVERED', 'Delivered'), ('FAILED', 'Failed')], default='PENDING', max_length=10)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(db_default=0)),
                ('next_attempt_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                ('claim', models.UUIDField(null=True)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.endpoint')),
            ],
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('started_at', models.DateTimeField()),
                ('milliseconds', models.PositiveIntegerField()),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('response', models.CharField(blank=True, max_length=1000)),
                ('error', models.CharField(blank=True, max_length=200)),
                ('delivery', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempt_set', to='webhooks.delivery')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('delivery', 'number'), name='attempt_number')],
            },
        ),
        migrations.AddIndex(
            model_name='endpoint',
            index=models.Index(models.F('workspace'), condition=models.Q(('deleted_at', None), ('enabled', True)), name='endpoint_enabled'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('endpoint'), models.F('next_attempt_at'), models.F('id'), condition=models.Q(('state', 'PENDING')), name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('endpoint'), models.F('claimed_until'), condition=models.Q(('claimed_until__isnull', False)), name='delivery_claimed'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('endpoint'), models.F('document_id'), models.F('sequence'), condition=models.Q(('state', 'PENDING'), ('attempts', 0)), name='delivery_first_attempt'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('endpoint'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='delivery_newest'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('endpoint'), models.F('state'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='delivery_state_newest'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('workspace_id'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='delivery_workspace'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='delivery_all'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('event_id'), name='delivery_event'),
        ),
        migrations.RunSQL((FOLDER / "triggers.sql").read_text()),
    ]
