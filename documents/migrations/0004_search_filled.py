import time

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import OperationalError, connection, migrations, models, transaction
from django.db.models.functions import Lower
from psycopg.errors import LockNotAvailable

BATCH = 1_000  # documents a transaction
FILL = f"""
    WITH batch AS (
        SELECT id, workspace_id, created_at, title FROM documents_document
        WHERE %s::uuid IS NULL OR id > %s ORDER BY id LIMIT {BATCH} FOR SHARE
    ), placed AS (
        UPDATE documents_recipient AS recipient
        SET workspace_id = batch.workspace_id, document_created_at = batch.created_at
        FROM batch WHERE document_id = batch.id AND recipient.workspace_id IS NULL
    ), words AS (
        INSERT INTO documents_titleword (workspace_id, word, created_at, document_id)
        SELECT workspace_id, word, created_at, id
        FROM batch, documents_words(title) AS word ON CONFLICT DO NOTHING
    )
    SELECT count(*), (array_agg(id ORDER BY id DESC))[1] FROM batch
"""
DOCUMENT = [
    models.Index(
        "workspace",
        models.F(f"{time}_at").desc(),
        models.F("id").desc(),
        condition=models.Q(("deleted_at", None), (f"{time}_at__isnull", False)),
        name=f"document_{time}",
    )
    for time in ("sent", "completed", "expires")
]
RECIPIENT = [
    models.Index(
        "workspace_id",
        *fields,
        models.F("document_created_at").desc(),
        models.F("document").desc(),
        name=name,
    )
    for fields, name in (
        ((Lower("email"), "status"), "recipient_email"),
        (("status",), "recipient_status_newest"),
    )
]


def fill(apps, schema_editor):
    """Adds what the triggers add to new documents to those that exist; again, it does no harm."""
    done, last, waited = 0, None, 0
    while True:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                # An import holds its documents until its end. Waiting for one with others in hand
                # could be a deadlock, which would end the import.
                cursor.execute("SET LOCAL lock_timeout = '500ms'")
                cursor.execute(FILL, [last, last])
                count, last = cursor.fetchone()
        except OperationalError as exc:
            if not isinstance(exc.__cause__, LockNotAvailable):
                raise
            waited += 1
            if waited % 20 == 1:
                print("\n    waiting for a document that is locked", flush=True)  # noqa: T201
            time.sleep(0.5)
            continue
        if not count:
            break
        done += count
        if done % (BATCH * 100) == 0:
            print(f"\n    {done:,} documents can be searched", flush=True)  # noqa: T201


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("documents", "0003_search")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        *(
            operation
            for model, indexes in (("document", DOCUMENT), ("recipient", RECIPIENT))
            for index in indexes
            for operation in (
                migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}", ""),
                AddIndexConcurrently(model, index),
            )
        ),
    ]
