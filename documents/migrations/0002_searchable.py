from datetime import UTC, datetime
from uuid import UUID

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, transaction

BATCH = 200  # documents that are locked at a time


def fill(apps, schema_editor):
    """Adds the rows of documents that exist; triggers write those of others meanwhile.

    Documents that are locked become outdated: housekeeping adds their rows. Waiting for them could
    be a deadlock with a writer. The rows are added in the order of creation, so that documents
    that are found together are often on one page.
    """
    last = [datetime.min.replace(tzinfo=UTC), UUID(int=0)]
    while last[1]:
        with transaction.atomic(), schema_editor.connection.cursor() as cursor:
            cursor.execute(
                """
                WITH next AS MATERIALIZED (
                    SELECT created_at, id, workspace_id FROM documents_document
                    WHERE (created_at, id) > (%s, %s) ORDER BY created_at, id LIMIT %s
                ), locked AS MATERIALIZED (
                    SELECT id FROM documents_document WHERE id IN (SELECT id FROM next)
                    FOR NO KEY UPDATE SKIP LOCKED
                ), outdated AS (
                    INSERT INTO documents_outdated (document_id, workspace_id)
                    SELECT id, workspace_id FROM next WHERE id NOT IN (SELECT id FROM locked)
                )
                SELECT max(created_at), (array_agg(id ORDER BY created_at DESC, id DESC))[1],
                    documents_write_searchable(ARRAY(SELECT id FROM locked), true)
                FROM next
                """,
                [*last, BATCH],
            )
            [[*last, _]] = cursor.fetchall()


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
