"""What keeping the counts of `/me` costs those who write documents."""

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
from psycopg import sql

from bench.agreement import Disagreement
from bench.progress import say
from bench.scale import Scale
from bench.stack import Stack

AT_ONCE = (1, 8)  # writers, all in one workspace
COUNTS = """
    SELECT status, sum(count)::bigint FROM workspaces_documentcount GROUP BY status
    HAVING sum(count) <> 0 ORDER BY 1
"""
TRUTH = "SELECT status, count(*) FROM documents_document GROUP BY status ORDER BY 1"
# Two transactions a document: it is made, and it is sent. They run inside PostgreSQL, so that
# nothing is measured but what the database does.
WRITE = """
    DO $$
    DECLARE made uuid;
    BEGIN
        FOR number IN 1..{documents} LOOP
            made := gen_random_uuid();
            INSERT INTO documents_storedfile (object_key, size, sha256, created_at)
                VALUES (made::text, 1, '', now());
            INSERT INTO documents_document (id, workspace_id, title, status, file_name, page_count,
                    file_size, signing_order, created_at, original_id)
                SELECT made, {workspace}, 'Lease', 'DRAFT', 'lease.pdf', 1, 1, 'PARALLEL', now(),
                    currval(pg_get_serial_sequence('documents_storedfile', 'id'));
            COMMIT;
            UPDATE documents_document SET status = 'SENT', sent_at = now() WHERE id = made;
            COMMIT;
        END LOOP;
    END $$
"""

Writers = dict[tuple[int, bool], list[float]]
"""(writers at once, with counts) → for each round, transactions a second."""


def _write(stack: Stack, database: str, documents: int, workspace: str) -> None:
    with stack.connect(database) as connection:
        # A slow disk would hide what the trigger costs.
        connection.execute("SET synchronous_commit = off")
        values = {"documents": sql.Literal(documents), "workspace": sql.Literal(workspace)}
        connection.execute(sql.SQL(WRITE).format(**values))


def _rate(stack: Stack, database: str, writers: int, documents: int, workspace: str) -> float:
    """Transactions a second of so many writers, who make so many documents together."""
    each = documents // writers
    with ThreadPoolExecutor(writers) as pool:
        started = time.monotonic()
        done = [pool.submit(_write, stack, database, each, workspace) for _ in range(writers)]
        for future in done:
            future.result()
        return 2 * each * writers / (time.monotonic() - started)


def _empty(connection: psycopg.Connection) -> None:
    connection.execute("ALTER TABLE documents_document ENABLE TRIGGER USER")
    connection.execute("TRUNCATE documents_document, documents_storedfile CASCADE")


def write(stack: Stack, database: str, scale: Scale) -> Writers:
    """Writes with and without the triggers that keep the counts, in turn.

    Raises:
        Disagreement: the counts that were kept are not right.
    """
    found: Writers = {(w, counts): [] for w in AT_ONCE for counts in (True, False)}
    with stack.connect(database) as connection:
        row = connection.execute("SELECT id::text FROM workspaces_workspace LIMIT 1").fetchone()
        assert row is not None  # noqa: S101 - the loader made it
        for number in range(1, scale.rounds + 1):
            say(f"writers, round {number} of {scale.rounds}")
            for (writers, counts), rates in found.items():
                _empty(connection)
                if not counts:
                    connection.execute("ALTER TABLE documents_document DISABLE TRIGGER USER")
                rates.append(_rate(stack, database, writers, scale.written, row[0]))
                kept = connection.execute(COUNTS).fetchall()
                truth = connection.execute(TRUTH).fetchall()
                if counts and kept != truth:
                    raise Disagreement(f"kept counts {kept}, documents {truth}")
        _empty(connection)
    return found
