"""Writes what the search keeps of documents whose row was locked when they changed."""

from django.db import transaction

from config.connections import fetch

BATCH = 1_000  # documents that are locked at a time
# Documents that others have locked wait for the next time. Those that are gone have left a row.
_REMOVED = """
    WITH locked AS (
        SELECT id FROM "documents_document"
        WHERE id IN (SELECT document_id FROM "documents_outdated" LIMIT %s)
        FOR NO KEY UPDATE SKIP LOCKED
    )
    DELETE FROM "documents_outdated" WHERE document_id IN (SELECT id FROM locked)
        OR NOT EXISTS (SELECT FROM "documents_document" WHERE id = document_id)
    RETURNING document_id
"""


def write_outdated() -> bool:
    """Writes the rows of some outdated documents; whether there may be more."""
    with transaction.atomic():
        ids = [id for [id] in fetch(_REMOVED, [BATCH])]
        # This statement sees the changes that made them outdated.
        fetch("SELECT documents_write_searchable(%s, true)::text", [ids])
    return len(ids) >= BATCH
