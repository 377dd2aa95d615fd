"""Triggers that maintain the denormalised document counts (`workspaces.views` reads them).

Each statement appends its changes, summed up by workspace and status. Appending never waits; with
a counter that is updated, the writers of a workspace queue, and two writers that update counters in
different order deadlock. About once in FOLD_EVERY statements, the rows of a workspace are folded
into one per status, by one transaction at a time; the others do not wait for it.
"""

import pgtrigger

FOLD_EVERY = 50  # statements; a reader sums up to about as many rows

_MAINTAIN = """
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


def _trigger(
    name: str, operation: pgtrigger.Operation, changes: str, **tables: str
) -> pgtrigger.Trigger:
    return pgtrigger.Trigger(
        name=name,
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=operation,
        referencing=pgtrigger.Referencing(**tables),  # type: ignore[no-untyped-call]
        declare=[("folded", "UUID")],
        func=_MAINTAIN.format(changes=changes, every=FOLD_EVERY),
    )


TRIGGERS = [
    _trigger("count_added", pgtrigger.Insert, _ADDED, new="added"),
    _trigger(
        "count_changed",
        pgtrigger.Update,
        f"{_ADDED} UNION ALL {_REMOVED}",
        new="added",
        old="removed",
    ),
    _trigger("count_removed", pgtrigger.Delete, _REMOVED, old="removed"),
    pgtrigger.Trigger(
        name="count_truncated",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Truncate,
        func="DELETE FROM workspaces_documentcount; RETURN NULL;",
    ),
]
