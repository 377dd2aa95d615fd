-- Folds the denormalised counts of some workspaces: into one row for each status.
-- It waits for nobody: rows that another transaction is folding are left to that one. A transaction
-- that sees one state of the database throughout could not delete rows that another one has folded
-- since: it leaves folding to the others.
CREATE OR REPLACE FUNCTION workspaces_fold_counts(folded uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'read committed' THEN
        WITH gone AS (
            DELETE FROM public.workspaces_documentcount WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM public.workspaces_documentcount
                WHERE workspace_id = ANY (folded) FOR UPDATE SKIP LOCKED
            )) RETURNING workspace_id, status, count
        )
        INSERT INTO public.workspaces_documentcount (workspace_id, status, count)
        SELECT workspace_id, status, sum(count) FROM gone
        GROUP BY workspace_id, status HAVING sum(count) <> 0;
    END IF;
END
$$;
