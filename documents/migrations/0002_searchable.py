from uuid import UUID

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, transaction

BATCH = 1000  # documents that are locked at a time


def fill(apps, schema_editor):
    """Adds the rows of documents that exist; triggers write those of others meanwhile."""
    last = UUID(int=0)
    while last:
        with transaction.atomic(), schema_editor.connection.cursor() as cursor:
            cursor.execute(
                """
                WITH locked AS MATERIALIZED (
                    SELECT id FROM documents_document WHERE id > %s
                    ORDER BY id LIMIT %s FOR NO KEY UPDATE
                ), last AS (
                    SELECT array_agg(id) AS ids, (array_agg(id ORDER BY id DESC))[1] AS id FROM locked
                )
                SELECT id, documents_write_searchable(ids, true) FROM last
                """,
                [last, BATCH],
            )
            [[last, _]] = cursor.fetchall()


class Migration(migrations.Migration):
    """Documents that exist become searchable, and no table is locked for long."""

    atomic = False

    dependencies = [
        ('documents', '0001_initial'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunSQL('SET lock_timeout = 0', migrations.RunSQL.noop),
        AddIndexConcurrently('searchable', GinIndex('tokens', fastupdate=False, name='searchable_tokens')),
    ]
