from pathlib import Path

import datetime
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models


FOLDER = Path(__file__).parents[1]


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('workspaces', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='StoredFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('object_key', models.CharField(max_length=100, unique=True)),
                ('size', models.BigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Outdated',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document_id', models.UUIDField(db_index=True)),
                ('workspace_id', models.UUIDField(db_index=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Searchable',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(null=True)),
                ('completed_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('folded_title', models.TextField()),
                ('tokens', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
            ],
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('title', models.CharField(max_length=500)),
                ('status', models.CharField(choices=[('DRAFT', 'Draft'), ('SENT', 'Sent'), ('VIEWED', 'Viewed'), ('PARTIALLY_SIGNED', 'Partially signed'), ('COMPLETED', 'Completed'), ('DECLINED', 'Declined'), ('EXPIRED', 'Expired'), ('CANCELLED', 'Cancelled')], default='DRAFT', max_length=20)),
                ('file_name', models.CharField(max_length=255)),
                ('page_count', models.PositiveIntegerField()),
                ('file_size', models.BigIntegerField()),
                ('signing_order', models.CharField(choices=[('PARALLEL', 'Parallel'), ('SEQUENTIAL', 'Sequential')], max_length=20)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('sent_at', models.DateTimeField(null=True)),
                ('completed_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('deleted_at', models.DateTimeField(null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='workspaces.workspace')),
                ('certificate', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='documents.storedfile')),
                ('original', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='documents.storedfile')),
                ('signed', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='documents.storedfile')),
            ],
        ),
        migrations.CreateModel(
            name='Recipient',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('email', models.CharField(max_length=254)),
                ('role', models.CharField(choices=[('SIGNER', 'Signer'), ('APPROVER', 'Approver'), ('CC', 'Cc'), ('VIEWER', 'Viewer')], max_length=10)),
                ('status', models.CharField(choices=[('PENDING', 'Pending'), ('SENT', 'Sent'), ('VIEWED', 'Viewed'), ('SIGNED', 'Signed'), ('APPROVED', 'Approved'), ('DECLINED', 'Declined'), ('BOUNCED', 'Bounced')], default='PENDING', max_length=10)),
                ('order', models.PositiveIntegerField()),
                ('sent_at', models.DateTimeField(null=True)),
                ('viewed_at', models.DateTimeField(null=True)),
                ('completed_at', models.DateTimeField(null=True)),
                ('declined_at', models.DateTimeField(null=True)),
                ('decline_reason', models.CharField(max_length=2000, null=True)),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recipients', to='documents.document')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['SIGNER', 'APPROVER', 'CC', 'VIEWER'])), name='recipient_role'), models.CheckConstraint(condition=models.Q(('status__in', ['PENDING', 'SENT', 'VIEWED', 'SIGNED', 'APPROVED', 'DECLINED', 'BOUNCED'])), name='recipient_status')],
            },
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('workspace'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('deleted_at', None)), name='document_newest'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('workspace'), models.F('status'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('deleted_at', None)), name='document_status_newest'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('workspace'), models.OrderBy(models.F('sent_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('deleted_at', None), ('sent_at__isnull', False)), name='document_sent'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('workspace'), models.OrderBy(models.F('completed_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('deleted_at', None), ('completed_at__isnull', False)), name='document_completed'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('workspace'), models.OrderBy(models.F('expires_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('deleted_at', None), ('expires_at__isnull', False)), name='document_expires'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['DRAFT', 'SENT', 'VIEWED', 'PARTIALLY_SIGNED', 'COMPLETED', 'DECLINED', 'EXPIRED', 'CANCELLED'])), name='document_status'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('signing_order__in', ['PARALLEL', 'SEQUENTIAL'])), name='document_signing_order'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('file_size__gte', 1), ('page_count__gte', 1)), name='document_has_pages'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'COMPLETED'), _negated=True), models.Q(('certificate__isnull', False), ('completed_at__isnull', False), ('signed__isnull', False)), _connector='OR'), name='document_complete_has_files'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('created_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc))), ('sent_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc))), ('completed_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc))), ('expires_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc))), ('deleted_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc)))), name='document_times'),
        ),
        migrations.AddConstraint(
            model_name='recipient',
            constraint=models.CheckConstraint(condition=models.Q(('sent_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc))), ('viewed_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc))), ('completed_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc))), ('declined_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc)))), name='recipient_times'),
        ),
        migrations.AddConstraint(
            model_name='storedfile',
            constraint=models.CheckConstraint(condition=models.Q(('created_at__range', (datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc)))), name='storedfile_times'),
        ),
        migrations.AddConstraint(
            model_name='storedfile',
            constraint=models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='storedfile_sha256'),
        ),
        migrations.RunSQL((FOLDER / "triggers.sql").read_text()),
        migrations.RunSQL((FOLDER / "folding.sql").read_text()),
        migrations.AddField(
            model_name='document',
            name='folded_title',
            field=models.GeneratedField(db_persist=True, expression=models.Func('title', function='documents_folded'), output_field=models.TextField()),
        ),
        migrations.RunSQL((FOLDER / "search.sql").read_text()),
    ]
