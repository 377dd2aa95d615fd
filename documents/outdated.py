"""Writes what the search keeps of documents whose row was locked when they changed."""

from uuid import UUID

from django.db import transaction

from config.connections import fetch

BATCH = 200  # documents that are locked at a time
# Documents that others have locked wait for the next time. Those that are gone may have left a row.
_NEXT = """
    WITH next AS MATERIALIZED (
        SELECT DISTINCT document_id FROM "documents_outdated" WHERE document_id > %s
        ORDER BY document_id LIMIT %s
    ), locked AS MATERIALIZED (
        SELECT id FROM "documents_document" WHERE id IN (SELECT document_id FROM next)
        FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT document_id, document_id IN (SELECT id FROM locked)
        OR NOT EXISTS (SELECT FROM "documents_document" WHERE id = document_id)
    FROM next ORDER BY document_id
"""


def write_outdated() -> None:
    """Writes the rows of all documents that are outdated, once for each document."""
    last: UUID | None = UUID(int=0)
    while last:
        with transaction.atomic():
            found = fetch(_NEXT, [last, BATCH])
            ids = [id for id, is_free in found if is_free]
            # This statement sees the changes that made them outdated.
            fetch("SELECT documents_write_searchable(%s, true)::text", [ids])
        last = found[-1][0] if found else None
