from pathlib import Path

import django.db.models.functions.comparison
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.db import migrations, models


FOLDER = Path(__file__).parents[1]


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('size', models.BigIntegerField(primary_key=True, serialize=False)),
                ('sealed_at', models.DateTimeField()),
                ('note', models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name='Leaf',
            fields=[
                ('index', models.BigIntegerField(primary_key=True, serialize=False)),
                ('entry_id', models.BigIntegerField(unique=True)),
                ('hash', models.BinaryField(max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name='Subtree',
            fields=[
                ('pk', models.CompositePrimaryKey('level', 'index', blank=True, editable=False, primary_key=True, serialize=False)),
                ('level', models.SmallIntegerField()),
                ('index', models.BigIntegerField()),
                ('hash', models.BinaryField(max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('action', models.CharField(max_length=40)),
                ('workspace_id', models.UUIDField(null=True)),
                ('workspace_name', models.CharField(blank=True, max_length=200)),
                ('person', models.CharField(blank=True, max_length=254)),
                ('member', models.CharField(blank=True, max_length=254)),
                ('detail', models.CharField(blank=True, max_length=1000)),
                ('key_id', models.UUIDField(null=True)),
                ('key_name', models.CharField(blank=True, max_length=100)),
                ('key_prefix', models.CharField(blank=True, max_length=12)),
                ('document_id', models.UUIDField(null=True)),
                ('document_title', models.CharField(blank=True, max_length=500)),
                ('file_type', models.CharField(blank=True, max_length=20)),
                ('file_sha256', models.CharField(blank=True, max_length=64)),
                ('byte_range', models.CharField(blank=True, max_length=60)),
                ('address', models.CharField(blank=True, max_length=45)),
                ('user_agent', models.CharField(blank=True, max_length=500)),
                ('request_id', models.CharField(blank=True, max_length=32)),
            ],
            options={
                'indexes': [models.Index(models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='audit_newest'), models.Index(models.F('workspace_id'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='audit_workspace'), models.Index(models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('action__startswith', 'document.'), _negated=True), name='audit_changes'), models.Index(models.F('workspace_id'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('action__startswith', 'document.'), _negated=True), name='audit_workspace_changes'), models.Index(models.F('action'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('action', 'document.downloaded'), _negated=True), name='audit_action'), models.Index(models.F('workspace_id'), models.F('action'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('action', 'document.downloaded'), _negated=True), name='audit_workspace_action'), models.Index(models.F('document_id'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('document_id__isnull', False)), name='audit_document'), models.Index(models.F('key_id'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='audit_key'), models.Index(models.F('key_prefix'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('action', 'document.downloaded'), _negated=True), name='audit_key_prefix'), models.Index(django.db.models.functions.comparison.Collate(django.db.models.functions.text.Upper('person'), 'C'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('person', ''), _negated=True), name='audit_person'), models.Index(django.db.models.functions.comparison.Collate(django.db.models.functions.text.Upper('member'), 'C'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('member', ''), _negated=True), name='audit_member'), models.Index(models.F('address'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('address', ''), _negated=True), name='audit_address'), models.Index(models.F('request_id'), name='audit_request')],
            },
        ),
        migrations.RunSQL((FOLDER / "triggers.sql").read_text()),
    ]
