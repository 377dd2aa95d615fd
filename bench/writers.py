"""What the triggers on documents cost those who write them: of the counts of `/me`, of events."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from bench import log
from bench.agreement import Disagreement
from bench.scale import Scale
from bench.stack import Stack

WRONG_COUNTS = """
    SELECT status, sum(change) FROM (
        SELECT status, count AS change FROM workspaces_documentcount
        UNION ALL SELECT status, -1 FROM documents_document
    ) changes GROUP BY 1 HAVING sum(change) <> 0
"""
EMPTY = """
    ALTER TABLE documents_document ENABLE TRIGGER USER;
    TRUNCATE documents_document, documents_storedfile, events_event, workspaces_documentcount
    CASCADE
"""
WITHOUT = """
    DO $$
    DECLARE name text;
    BEGIN
        FOR name IN SELECT tgname FROM pg_trigger
            WHERE tgrelid = 'documents_document'::regclass AND tgname ~ '^({names})_'
        LOOP
            EXECUTE format('ALTER TABLE documents_document DISABLE TRIGGER %I', name);
        END LOOP;
    END $$
"""
# What is left in the table → the names of the triggers that are disabled begin with these.
TRIGGERS = {"none": "counts|events", "events": "counts", "all": ""}
INSERT = """
    INSERT INTO documents_document (id, workspace_id, title, status, file_name, page_count,
        file_size, signing_order, created_at, original_id)
    SELECT gen_random_uuid(), workspace.id, 'Lease', 'DRAFT', 'lease.pdf', 1, 1, 'PARALLEL', now(),
        file.id
"""
ADD = f"""
    WITH file AS (
        INSERT INTO documents_storedfile (object_key, size, sha256, created_at)
        SELECT gen_random_uuid()::text, 1, '', now() FROM generate_series(1, {{documents}})
        RETURNING id
    ) {INSERT} FROM file, (SELECT id FROM workspaces_workspace LIMIT 1) AS workspace
"""  # noqa: S608 - made of constants
# The writers' loops run inside PostgreSQL, so that only the work of the database is measured.
# Two transactions a document: it is created, and it is sent.
WRITE = f"""
    DO $$
    DECLARE made uuid;
    BEGIN
        FOR number IN 1..{{documents}} LOOP
            WITH file AS (
                INSERT INTO documents_storedfile (object_key, size, sha256, created_at)
                VALUES (gen_random_uuid()::text, 1, '', now()) RETURNING id
            ) {INSERT} FROM file, (SELECT id FROM workspaces_workspace LIMIT 1) AS workspace
            RETURNING id INTO made;
            COMMIT;
            UPDATE documents_document SET status = 'SENT', sent_at = now() WHERE id = made;
            COMMIT;
        END LOOP;
    END $$
"""  # noqa: S608 - made of constants
RENAME = """
    DO $$
    DECLARE ids uuid[] := ARRAY(SELECT id FROM documents_document LIMIT 500);
    BEGIN
        FOR number IN 1..{documents} LOOP
            UPDATE documents_document SET title = 'Lease ' || number
                WHERE id = ids[1 + number % cardinality(ids)];
            COMMIT;
        END LOOP;
    END $$
"""
SEND = "UPDATE documents_document SET status = 'SENT', sent_at = now()"


class Case(NamedTuple):
    """Something that writers do.

    Attributes:
        sql: what each writer executes.
        documents: that are written, as a multiple of the scale's amount.
        changes: of a document.
        exist: whether the documents were added before.
    """

    title: str
    sql: str
    writers: int = 1
    documents: int = 1
    changes: int = 1
    exist: bool = False


CASES = {
    "rename": Case("one writer changes titles", RENAME, documents=4, exist=True),
    "one": Case("one writer creates and sends", WRITE, changes=2),
    "eight": Case("eight writers create and send", WRITE, writers=8, changes=2),
    "bulk": Case("one statement sends all documents", SEND, documents=4, exist=True),
}

Writers = dict[tuple[str, str], list[float]]
"""(case, which triggers) → for each round, changes of documents a second."""


def _execute(stack: Stack, database: str, sql: str) -> None:
    with stack.connect(database) as connection:
        # A slow disk would hide what a trigger costs.
        connection.execute("SET synchronous_commit = off")
        connection.execute(sql.encode())


def _rate(stack: Stack, database: str, case: Case, scale: Scale) -> float:
    """Changes a second of all writers together."""
    documents = case.documents * scale.written // case.writers
    if case.exist:
        _execute(stack, database, ADD.replace("{documents}", str(documents)))
        _execute(stack, database, "VACUUM ANALYZE documents_document")
    sql = case.sql.replace("{documents}", str(documents))
    started = time.monotonic()
    with ThreadPoolExecutor(case.writers) as pool:
        for future in [pool.submit(_execute, stack, database, sql) for _ in range(case.writers)]:
            future.result()
        return case.changes * documents * case.writers / (time.monotonic() - started)


def write(stack: Stack, database: str, scale: Scale) -> Writers:
    """Writes without triggers, with those of events, and with all of them, in turn.

    Raises:
        Disagreement: the counts are wrong.
    """
    found: Writers = {(case, triggers): [] for case in CASES for triggers in TRIGGERS}
    with stack.connect(database) as connection:
        for number in range(1, scale.rounds + 1):
            log(f"writers, round {number} of {scale.rounds}")
            for (case, triggers), rates in found.items():
                connection.execute(EMPTY)
                if names := TRIGGERS[triggers]:
                    connection.execute(WITHOUT.replace("{names}", names).encode())
                rates.append(_rate(stack, database, CASES[case], scale))
                if triggers == "all" and (wrong := connection.execute(WRONG_COUNTS).fetchall()):
                    raise Disagreement(f"counts differ by {wrong}")
        connection.execute(EMPTY)
    return found
