import django.db.models.functions.comparison
import django.db.models.functions.text
from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations, models

from config.runtime.postgresql.indexes import BuildIndex


# The new ones first, so that each search has an index at any time.
class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('audit', '0006_actions_of_the_console'),
    ]

    operations = [
        BuildIndex(
            model_name='auditentry',
            index=models.Index(models.F('key_prefix'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('action', 'document.download_ended'), _negated=True), name='audit_key_prefix_listed'),
        ),
        BuildIndex(
            model_name='auditentry',
            index=models.Index(django.db.models.functions.comparison.Collate(django.db.models.functions.text.Upper('key_name'), 'C'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('action', 'document.download_ended'), _negated=True), name='audit_key_name_listed'),
        ),
        BuildIndex(
            model_name='auditentry',
            index=models.Index(django.db.models.functions.comparison.Collate(django.db.models.functions.text.Upper('person'), 'C'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('person', ''), _negated=True), name='audit_person_listed'),
        ),
        BuildIndex(
            model_name='auditentry',
            index=models.Index(django.db.models.functions.comparison.Collate(django.db.models.functions.text.Upper('member'), 'C'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('member', ''), _negated=True), name='audit_member_listed'),
        ),
        BuildIndex(
            model_name='auditentry',
            index=models.Index(django.db.models.functions.comparison.Collate(django.db.models.functions.text.Upper(django.db.models.functions.text.Left('document_title', 40)), 'C'), models.F('document_id'), condition=models.Q(models.Q(('action', 'document.download_ended'), _negated=True), ('document_id__isnull', False)), name='audit_title_listed'),
        ),
        BuildIndex(
            model_name='auditentry',
            index=models.Index(models.F('address'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(models.Q(('action', 'document.download_ended'), _negated=True), models.Q(('address', ''), _negated=True)), name='audit_address_listed'),
        ),
        RemoveIndexConcurrently(
            model_name='auditentry',
            name='audit_key_prefix_newest',
        ),
        RemoveIndexConcurrently(
            model_name='auditentry',
            name='audit_key_name_newest',
        ),
        RemoveIndexConcurrently(
            model_name='auditentry',
            name='audit_person_newest',
        ),
        RemoveIndexConcurrently(
            model_name='auditentry',
            name='audit_member_newest',
        ),
    ]
