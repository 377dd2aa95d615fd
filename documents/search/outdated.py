"""Writes what the search keeps of documents whose row was locked when they changed."""

from django.db import transaction

from config.connections import fetch

BATCH = 1_000  # documents that are locked at a time

# Documents that others have locked wait for the next time. Those that are gone leave their rows.
_LOCKED = """
    SELECT document.id FROM "documents_document" AS document
    WHERE document.id IN (SELECT document_id FROM "documents_outdated" LIMIT %s)
    FOR NO KEY UPDATE SKIP LOCKED
"""
_REMOVED = """
    DELETE FROM "documents_outdated" WHERE document_id = ANY (%s) OR NOT EXISTS (
        SELECT FROM "documents_document" AS document WHERE document.id = document_id
    ) RETURNING document_id
"""


def write_outdated() -> bool:
    """Writes the rows of some outdated documents; whether there may be more."""
    with transaction.atomic():
        locked = [id for [id] in fetch(_LOCKED, [BATCH])]
        removed = [id for [id] in fetch(_REMOVED, [locked])]
        # Changes that were committed before their documents were removed here are seen now.
        fetch("SELECT documents_write_searchable(%s, true)::text", [removed])
    return len(locked) == BATCH
