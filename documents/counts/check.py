"""Proves the kept document counts against the documents themselves, and mends those that differ.

They can differ only after something went past the triggers or through them twice: a restore of the
data alone, which adds the kept rows to those that the triggers make of the restored documents.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from config.management.progress import Progress, Say
from config.management.shutdown import Stop
from workspaces.models import DocumentCount

# Those that are gone too: what is kept of them has to be nothing.
_WORKSPACES = """
    SELECT id FROM workspaces_workspace UNION SELECT workspace_id FROM workspaces_documentcount
    ORDER BY 1
"""
# One statement sees one state of the database: there, a document and its row are both or neither.
_DIFFERENCES = """
    WITH kept AS (
        SELECT status, sum(count)::bigint AS number FROM workspaces_documentcount
        WHERE workspace_id = %(workspace)s GROUP BY status
    ), counted AS (
        SELECT status, count(*) AS number FROM documents_document
        WHERE workspace_id = %(workspace)s AND deleted_at IS NULL GROUP BY status
    )
    SELECT status, coalesce(kept.number, 0), coalesce(counted.number, 0)
    FROM kept FULL JOIN counted USING (status)
    WHERE coalesce(kept.number, 0) <> coalesce(counted.number, 0)
    ORDER BY status
"""
# Keeps out another mender, who would add the same difference once more, and no writer of documents.
_ONE_MENDER = "LOCK TABLE workspaces_documentcount IN SHARE UPDATE EXCLUSIVE MODE"


@dataclass(frozen=True)
class Difference:
    """A kept count that is not what counting documents gives."""

    workspace: UUID
    status: str
    kept: int
    counted: int


def differences(say: Say, stop: Stop, *, mend: bool) -> Iterator[Difference]:
    """The counts that differ, workspace by workspace; with `mend` they are right when told.

    Raises:
        django.db.Error: the database is out of reach.
        Stopped: between two workspaces.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WORKSPACES)
        workspaces = [workspace for (workspace,) in cursor.fetchall()]
    progress = Progress(say)
    for number, workspace in enumerate(workspaces):
        stop.check()
        progress.note(f"{number} of {len(workspaces)} workspaces counted")
        found = _found(workspace)
        yield from _mended(workspace) if mend and found else found


def _found(workspace: UUID) -> list[Difference]:
    with connection.cursor() as cursor:
        cursor.execute(_DIFFERENCES, {"workspace": workspace})
        return [Difference(workspace, *row) for row in cursor.fetchall()]


def _mended(workspace: UUID) -> list[Difference]:
    """Adds what is missing to the sum, and takes nothing away.

    So it may be added at any later moment: what others write or fold meanwhile changes the kept
    sum and the documents alike, or neither.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_ONE_MENDER)
        found = _found(workspace)
        DocumentCount.objects.bulk_create(
            DocumentCount(
                workspace_id=workspace, status=each.status, count=each.counted - each.kept
            )
            for each in found
        )
    return found
