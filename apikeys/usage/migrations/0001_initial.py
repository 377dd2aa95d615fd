import apikeys.usage.models
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='KeyUsage',
            fields=[
                ('pk', models.CompositePrimaryKey('key_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('key_id', models.UUIDField()),
                ('day', models.DateField()),
                ('workspace_id', models.UUIDField()),
                ('ok', models.BigIntegerField(default=0)),
                ('hours', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=apikeys.usage.models.no_hours, size=None)),
                ('errors', models.BigIntegerField(default=0)),
                ('limited', models.BigIntegerField(default=0)),
                ('downloads', models.BigIntegerField(default=0)),
                ('busiest', models.BigIntegerField(default=0)),
                ('last_at', models.DateTimeField()),
                ('address', models.CharField(blank=True, max_length=45)),
                ('user_agent', models.CharField(blank=True, max_length=500)),
            ],
            options={
                'indexes': [models.Index(models.F('day'), models.F('workspace_id'), name='usage_day_workspace')],
            },
        ),
        migrations.CreateModel(
            name='RefusedRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
                ('requests', models.BigIntegerField(default=1)),
                ('others', models.BigIntegerField(default=0)),
                ('request_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ('status', models.PositiveSmallIntegerField()),
                ('response_text', models.CharField(max_length=500)),
                ('reason', models.CharField(max_length=500)),
                ('key_id', models.UUIDField(null=True)),
                ('key_name', models.CharField(blank=True, max_length=100)),
                ('key_prefix', models.CharField(blank=True, max_length=12)),
                ('workspace_id', models.UUIDField(null=True)),
                ('workspace_name', models.CharField(blank=True, max_length=200)),
                ('address', models.CharField(blank=True, max_length=45)),
                ('user_agent', models.CharField(blank=True, max_length=500)),
                ('method', models.CharField(max_length=20)),
                ('path', models.CharField(max_length=500)),
            ],
            options={
                'indexes': [models.Index(models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='refused_newest'), models.Index(models.F('status'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='refused_status'), models.Index(models.F('key_id'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='refused_key'), models.Index(models.F('key_id'), models.F('status'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='refused_key_status'), models.Index(models.F('workspace_id'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='refused_workspace'), models.Index(models.F('workspace_id'), models.F('status'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='refused_workspace_status'), django.contrib.postgres.indexes.GinIndex(fields=['request_ids'], name='refused_request')],
            },
        ),
    ]
