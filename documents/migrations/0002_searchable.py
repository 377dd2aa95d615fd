from itertools import islice

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations

BATCH = 200  # documents that are locked at a time


def fill(apps, schema_editor):
    """Adds the rows of documents that exist; triggers write those of others meanwhile.

    Documents that are locked become outdated: housekeeping adds their rows. Waiting for them could
    be a deadlock with a writer. The rows are added in the order of creation, so that documents
    that are found together are often on one page. They are sorted once, outside of a transaction.
    """
    documents = apps.get_model('documents', 'Document').objects.order_by('created_at', 'id')
    ids = documents.values_list('id', flat=True).iterator(chunk_size=BATCH)
    while batch := list(islice(ids, BATCH)):
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(
                """
                WITH locked AS MATERIALIZED (
                    SELECT id FROM documents_document WHERE id = ANY (%(batch)s)
                    FOR NO KEY UPDATE SKIP LOCKED
                ), outdated AS (
                    INSERT INTO documents_outdated (document_id, workspace_id)
                    SELECT id, workspace_id FROM documents_document
                    WHERE id = ANY (%(batch)s) AND id NOT IN (SELECT id FROM locked)
                )
                SELECT documents_write_searchable(ARRAY(SELECT id FROM locked), true)
                """,
                {'batch': batch},
            )


class Migration(migrations.Migration):
    """Documents that exist become searchable, and no table is locked for long.

    Its reverse removes the index only. The rows stay, and triggers keep them.
    """

    atomic = False

    dependencies = [
        ('documents', '0001_initial'),
    ]

    operations = [
        # Without statistics, making a row would take ten times as long.
        migrations.RunSQL('ANALYZE documents_document, documents_recipient', migrations.RunSQL.noop),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunSQL('SET lock_timeout = 0', migrations.RunSQL.noop),
        AddIndexConcurrently('searchable', GinIndex('tokens', gin_pending_list_limit=64, name='searchable_tokens')),
        migrations.RunSQL('RESET lock_timeout', migrations.RunSQL.noop),
    ]
