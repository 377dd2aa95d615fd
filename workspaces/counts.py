"""The number of documents of each status, which GET /me reads: denormalised counts.

Triggers add rows with each change of a document (`documents/triggers.sql`), and GET /me sums up
those of the workspace: 1,000 rows in 1 ms, a million in 0.1 to 0.5 s. Housekeeping folds them every
ten minutes; `workspaces/checks.py` warns if it does not.

The counts can only be wrong after a change that bypassed the triggers or ran them twice. After a
data-only restore, for example, the restored counts and those that the triggers make add up to twice
the truth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from config.connections import fetch
from config.management.progress import Progress, Report
from config.management.shutdown import Shutdown
from workspaces.models import DocumentCount
from workspaces.serializers import Counts

MANY = 50  # rows of a workspace; folded, it has at most one for each status
BATCH = 50_000  # rows that are folded at once
LATE = 100_000  # rows of a workspace, which is not folded any more

# The columns are those of Counts.
_COUNTS = """
    SELECT coalesce(sum(count) FILTER (WHERE status = 'DRAFT'), 0)::bigint,
        coalesce(sum(count) FILTER (WHERE status = 'SENT'), 0)::bigint,
        coalesce(sum(count) FILTER (WHERE status = 'COMPLETED'), 0)::bigint
    FROM "workspaces_documentcount" WHERE workspace_id = %s
"""
# It waits for nobody: rows that another process is folding are left to that one. Workspace by
# workspace, so that each batch leaves fewer rows.
_FOLD = """
    WITH gone AS (
        DELETE FROM workspaces_documentcount WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM workspaces_documentcount WHERE workspace_id IN (
                SELECT workspace_id FROM workspaces_documentcount
                GROUP BY workspace_id HAVING count(*) > %s
            ) ORDER BY workspace_id LIMIT %s FOR UPDATE SKIP LOCKED
        )) RETURNING workspace_id, status, count
    ), added AS (
        INSERT INTO workspaces_documentcount (workspace_id, status, count)
        SELECT workspace_id, status, sum(count) FROM gone
        GROUP BY workspace_id, status HAVING sum(count) <> 0
    )
    SELECT count(*) FROM gone
"""
_MOST_ROWS = """
    SELECT coalesce(max(rows), 0) FROM (
        SELECT count(*) AS rows FROM workspaces_documentcount GROUP BY workspace_id
    ) AS of_workspaces
"""
# Include deleted workspaces: their stored counts must be zero.
_WORKSPACES = """
    SELECT id FROM workspaces_workspace UNION SELECT workspace_id FROM workspaces_documentcount
    ORDER BY 1
"""
# One statement sees one snapshot, in which a document and its count are both present or both not.
_DIFFERENCES = """
    WITH stored AS (
        SELECT status, sum(count)::bigint AS number FROM workspaces_documentcount
        WHERE workspace_id = %(workspace)s GROUP BY status
    ), counted AS (
        SELECT status, count(*) AS number FROM documents_document
        WHERE workspace_id = %(workspace)s AND deleted_at IS NULL GROUP BY status
    )
    SELECT status, coalesce(stored.number, 0), coalesce(counted.number, 0)
    FROM stored FULL JOIN counted USING (status)
    WHERE coalesce(stored.number, 0) <> coalesce(counted.number, 0)
    ORDER BY status
"""
# Blocks a concurrent repair, which would add the difference twice, but not writes to documents.
_LOCK = "LOCK TABLE workspaces_documentcount IN SHARE UPDATE EXCLUSIVE MODE"


def counts(workspace_id: UUID) -> Counts:
    [found] = fetch(_COUNTS, (workspace_id,), Counts)
    return found  # type: ignore[no-any-return]


def fold() -> bool:
    """Folds the rows of workspaces that have many into one for each status.

    Returns whether there may be more: it folds a batch at a time.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FOLD, [MANY, BATCH])
        [folded] = cursor.fetchone()
    return bool(folded == BATCH)


def most_rows() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_MOST_ROWS)
        return int(cursor.fetchone()[0])


@dataclass(frozen=True)
class Difference:
    workspace: UUID
    status: str
    stored: int
    counted: int


def differences(report: Report, shutdown: Shutdown, *, fix: bool) -> Iterator[Difference]:
    """The wrong counts, by workspace; with `fix`, they are corrected before they are yielded."""
    with connection.cursor() as cursor:
        cursor.execute(_WORKSPACES)
        workspaces = [workspace for (workspace,) in cursor.fetchall()]
    progress = Progress(report)
    for number, workspace in enumerate(workspaces):
        shutdown.check()
        progress.note(f"{number} of {len(workspaces)} workspaces checked")
        found = _find(workspace)
        yield from _fix(workspace) if fix and found else found


def _find(workspace: UUID) -> list[Difference]:
    with connection.cursor() as cursor:
        cursor.execute(_DIFFERENCES, {"workspace": workspace})
        return [Difference(workspace, *row) for row in cursor.fetchall()]


def _fix(workspace: UUID) -> list[Difference]:
    """Inserts the difference as new rows.

    This is safe with concurrent writes and folding, which change the stored sum and the documents
    by the same number.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_LOCK)
        found = _find(workspace)
        DocumentCount.objects.bulk_create(
            DocumentCount(
                workspace_id=workspace, status=each.status, count=each.counted - each.stored
            )
            for each in found
        )
    return found
