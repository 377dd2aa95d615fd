"""Whether what was loaded is what the measurements say they are about."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from bench.loading.identity import Workspace

DOZENS = range(26, 100)  # documents with the rare status: more than a page, and only few


class NotAsLoaded(Exception):
    """The database holds something else than it should."""


def _same(what: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise NotAsLoaded(f"{what}: {found}, not {wanted}")


def _ask(query: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def entries(count: int) -> None:
    _same("audit entries", _ask("SELECT count(*) FROM audit_auditentry"), [(count,)])


def documents(workspaces: Sequence[Workspace], recipients: int, rare: str) -> None:
    """Each workspace's documents, their recipients, the rare status, and the kept counts.

    Args:
        recipients: of each document.
        rare: the status that few documents of the first workspace have.
    """
    live = "SELECT workspace_id::text, count(*) FROM documents_document WHERE deleted_at IS NULL"
    found = dict(_ask(f"{live} GROUP BY 1"))
    _same("documents", found, {w.id: w.documents for w in workspaces})
    total = sum(w.documents + w.deleted for w in workspaces)
    _same("recipients", _ask("SELECT count(*) FROM documents_recipient"), [(total * recipients,)])
    of_status = f"{live} AND workspace_id = %s AND status = %s GROUP BY 1"
    [(_, few)] = _ask(of_status, workspaces[0].id, rare)
    if few not in DOZENS:
        raise NotAsLoaded(f"{few} documents are {rare}")
    kept = "SELECT workspace_id::text, sum(count)::bigint FROM workspaces_documentcount GROUP BY 1"
    _same("kept counts", dict(_ask(kept)), found)
