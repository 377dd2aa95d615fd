from datetime import UTC, datetime
from uuid import UUID

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, transaction

BATCH = 1000  # documents that are locked at a time


def fill(apps, schema_editor):
    """Adds the rows of documents that exist; triggers write those of others meanwhile.

    In the order of creation: documents that are found together are then often on one page.
    """
    last = [datetime.min.replace(tzinfo=UTC), UUID(int=0)]
    while last[1]:
        with transaction.atomic(), schema_editor.connection.cursor() as cursor:
            cursor.execute(
                """
                WITH locked AS MATERIALIZED (
                    SELECT created_at, id FROM documents_document WHERE (created_at, id) > (%s, %s)
                    ORDER BY created_at, id LIMIT %s FOR NO KEY UPDATE
                )
                SELECT max(created_at), (array_agg(id ORDER BY created_at DESC, id DESC))[1],
                    documents_write_searchable(array_agg(id), true)
                FROM locked
                """,
                [*last, BATCH],
            )
            [[*last, _]] = cursor.fetchall()


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
