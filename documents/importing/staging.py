"""Stages checked documents in a temporary table.

Keeping them in memory, or even their ids, would dominate an import's memory use.
"""

from collections.abc import Iterable, Iterator

import msgspec
from django.db import connection

from documents.importing.problems import Problems
from documents.importing.validation import Record
from workspaces.models import Workspace

# Maximum size of a batch, whichever is reached first.
BATCH = 200  # documents
BATCH_RECIPIENTS = 2000

CREATE = """
    DROP TABLE IF EXISTS import_staging;
    CREATE TEMPORARY TABLE import_staging (
        batch integer, line bigint,
        number integer, -- 0 is the document; its recipients count from 1
        id uuid, document_id uuid, label text, record bytea,
        PRIMARY KEY (batch, line, number)
    ) ON COMMIT DROP
"""
PROBLEMS = """
    SELECT line, number, label, id, 'is on line ' || first || ' already'
    FROM (
        SELECT line, number, label, id, row_number() OVER same AS nth, first_value(line) OVER same
        FROM import_staging WINDOW same AS (PARTITION BY number = 0, id ORDER BY line, number)
    ) AS staged (line, number, label, id, nth, first) WHERE nth > 1
    UNION ALL
    SELECT line, number, label, staged.id, 'belongs to another workspace'
    FROM import_staging AS staged JOIN documents_document AS document USING (id)
    WHERE number = 0 AND document.workspace_id <> %s
    UNION ALL
    SELECT line, number, label, staged.id, 'belongs to a recipient of another document'
    FROM import_staging AS staged JOIN documents_recipient AS recipient USING (id)
    WHERE number > 0 AND recipient.document_id <> staged.document_id
    ORDER BY line, number
"""
READ = "SELECT record FROM import_staging WHERE batch = %s AND number = 0 ORDER BY line"


class Staging:
    """The records of one import, until the caller's transaction ends."""

    def __init__(self) -> None:
        self.documents = 0
        self._last_batch = 0
        with connection.cursor() as cursor:
            cursor.execute(CREATE)

    def fill(self, records: Iterable[Record]) -> None:
        """Copies the records into the temporary table, in line order."""
        documents = recipients = 0  # of the batch
        with (
            connection.wrap_database_errors,
            connection.cursor() as cursor,
            cursor.copy("COPY import_staging FROM STDIN") as copy,
        ):
            for record in records:
                if documents >= BATCH or recipients >= BATCH_RECIPIENTS:
                    self._last_batch += 1
                    documents = recipients = 0
                document, content = record.document, msgspec.msgpack.encode(record)
                start = (self._last_batch, record.line)
                copy.write_row((*start, 0, document.id, document.id, record.label, content))
                for number, each in enumerate(document.recipients, 1):
                    copy.write_row((*start, number, each.id, document.id, record.label, None))
                documents += 1
                recipients += len(document.recipients)
                self.documents += 1

    def check_ids(self, workspace: Workspace, problems: Problems) -> None:
        """Finds ids that are given twice, or that something else in the database has."""
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE import_staging")
        with connection.chunked_cursor() as cursor:
            cursor.execute(PROBLEMS, [workspace.pk])
            for line, number, label, id, text in cursor:
                path = f"recipients[{number - 1}].id" if number else "id"
                problems.add(line, f"{label}, {path}: {id} {text}")

    def batches(self) -> Iterator[list[Record]]:
        """The records in line order, in batches of bounded size."""
        for batch in range(self._last_batch + 1):
            with connection.cursor() as cursor:
                cursor.execute(READ, [batch])
                yield [msgspec.msgpack.decode(row[0], type=Record) for row in cursor.fetchall()]
