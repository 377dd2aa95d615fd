"""What the denormalised counts of `/me` cost those who write documents."""

import time
from concurrent.futures import ThreadPoolExecutor

from bench import log
from bench.agreement import Disagreement
from bench.scale import Scale
from bench.stack import Stack

CONCURRENT = (1, 8)  # writers, all in one workspace
WRONG_COUNTS = """
    SELECT status, sum(change) FROM (
        SELECT status, count AS change FROM workspaces_documentcount
        UNION ALL SELECT status, -1 FROM documents_document
    ) changes GROUP BY 1 HAVING sum(change) <> 0
"""
EMPTY = """
    ALTER TABLE documents_document ENABLE TRIGGER USER;
    TRUNCATE documents_document, documents_storedfile CASCADE
"""
# Two transactions a document: it is created, and it is sent. They run inside PostgreSQL, so that
# only the work of the database is measured.
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
                SELECT made, id, 'Lease', 'DRAFT', 'lease.pdf', 1, 1, 'PARALLEL', now(),
                    currval(pg_get_serial_sequence('documents_storedfile', 'id'))
                FROM workspaces_workspace LIMIT 1;
            COMMIT;
            UPDATE documents_document SET status = 'SENT', sent_at = now() WHERE id = made;
            COMMIT;
        END LOOP;
    END $$
"""

Writers = dict[tuple[int, bool], list[float]]
"""(concurrent writers, with counts) → for each round, transactions a second."""


def _rate(stack: Stack, database: str, writers: int, documents: int) -> float:
    """Transactions a second of so many writers, who create so many documents together."""
    each = documents // writers

    def write() -> None:
        with stack.connect(database) as connection:
            # A slow disk would hide what the trigger costs.
            connection.execute("SET synchronous_commit = off")
            connection.execute(WRITE.replace("{documents}", str(each)).encode())

    started = time.monotonic()
    with ThreadPoolExecutor(writers) as pool:
        for future in [pool.submit(write) for _ in range(writers)]:
            future.result()
        return 2 * each * writers / (time.monotonic() - started)


def write(stack: Stack, database: str, scale: Scale) -> Writers:
    """Writes with and without the triggers that maintain the counts, in turn.

    Raises:
        Disagreement: the counts are wrong.
    """
    found: Writers = {(w, counts): [] for w in CONCURRENT for counts in (True, False)}
    with stack.connect(database) as connection:
        for number in range(1, scale.rounds + 1):
            log(f"writers, round {number} of {scale.rounds}")
            for (writers, counts), rates in found.items():
                connection.execute(EMPTY)
                if not counts:
                    connection.execute("ALTER TABLE documents_document DISABLE TRIGGER USER")
                rates.append(_rate(stack, database, writers, scale.written))
                if counts and (wrong := connection.execute(WRONG_COUNTS).fetchall()):
                    raise Disagreement(f"counts differ by {wrong}")
        connection.execute(EMPTY)
    return found
