"""Triggers that keep how many documents a workspace has (`workspaces.views` reads it).

Each statement appends what it changes: rows of +1s and -1s, summed. Appending waits for nobody,
where a counter that is updated makes all writers of a workspace queue, and writers that meet two
counters in different order deadlock. About once in FOLD_EVERY statements the rows of a workspace
are folded into one for each status, by one transaction at a time; the others do not wait for it.
"""

import pgtrigger

FOLD_EVERY = 50  # statements; a reader sums about as many rows

_KEEP = """
    INSERT INTO workspaces_documentcount (workspace_id, status, count)
    SELECT workspace_id, status, sum(change) FROM ({changes}) AS changes
    GROUP BY workspace_id, status HAVING sum(change) <> 0;

    -- A transaction that sees one state of the database throughout could not take away rows that
    -- another has folded meanwhile: it leaves folding to the others.
    IF random() * {every} < 1 AND current_setting('transaction_isolation') = 'read committed' THEN
        SELECT workspace_id INTO folded FROM ({changes}) AS changes LIMIT 1;
        IF pg_try_advisory_xact_lock(hashtextextended('documentcount ' || folded, 0)) THEN
            WITH gone AS (
                DELETE FROM workspaces_documentcount WHERE workspace_id = folded
                RETURNING status, count
            )
            INSERT INTO workspaces_documentcount (workspace_id, status, count)
            SELECT folded, status, sum(count) FROM gone GROUP BY status HAVING sum(count) <> 0;
        END IF;
    END IF;
    RETURN NULL;
"""
_ADDED = "SELECT workspace_id, status, 1 AS change FROM added WHERE deleted_at IS NULL"
_REMOVED = "SELECT workspace_id, status, -1 AS change FROM removed WHERE deleted_at IS NULL"


def _keep(
    name: str, operation: pgtrigger.Operation, changes: str, **tables: str
) -> pgtrigger.Trigger:
    return pgtrigger.Trigger(
        name=name,
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=operation,
        referencing=pgtrigger.Referencing(**tables),  # type: ignore[no-untyped-call]
        declare=[("folded", "UUID")],
        func=_KEEP.format(changes=changes, every=FOLD_EVERY),
    )


TRIGGERS = [
    _keep("count_added", pgtrigger.Insert, _ADDED, new="added"),
    _keep(
        "count_changed",
        pgtrigger.Update,
        f"{_ADDED} UNION ALL {_REMOVED}",
        new="added",
        old="removed",
    ),
    _keep("count_removed", pgtrigger.Delete, _REMOVED, old="removed"),
    pgtrigger.Trigger(
        name="count_truncated",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Truncate,
        func="DELETE FROM workspaces_documentcount; RETURN NULL;",
    ),
]
