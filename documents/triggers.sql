-- Each change appends rows to the denormalised counts. Appending never waits; with a counter that is
-- updated, the writers of a workspace queue, and two that update counters in different order deadlock.
-- About once in 100 changes, the rows of a workspace are folded into one per status: a reader sums up
-- to a few times as many rows.
--
-- Inserts and deletes are summed up by statement. Statement triggers with transition tables cannot be
-- limited to columns, so updates use a row trigger (UPDATE OF …). A WHEN clause was slower than the check
-- inside. (The trigger does not see a column that a BEFORE trigger sets; there is none.) An update folds
-- once, after its last document: while it runs, folding would read all the rows again that it has
-- folded before.

CREATE OR REPLACE FUNCTION documents_counts_added_removed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO public.workspaces_documentcount (workspace_id, status, count)
    SELECT workspace_id, status, change * count(*) FROM changed WHERE deleted_at IS NULL
    GROUP BY workspace_id, status;
    IF random() * 100 < 1 THEN
        PERFORM public.workspaces_fold_counts(ARRAY(SELECT DISTINCT workspace_id FROM changed));
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER counts_added
    AFTER INSERT ON documents_document REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_added_removed();
CREATE OR REPLACE TRIGGER counts_removed
    AFTER DELETE ON documents_document REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_added_removed();

-- The setting documents.fold has the workspaces to fold, until the end of the statement.
CREATE OR REPLACE FUNCTION documents_counts_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, OLD.deleted_at IS NULL, OLD.workspace_id)
            = (NEW.status, NEW.deleted_at IS NULL, NEW.workspace_id) THEN
        RETURN NULL;
    END IF;
    INSERT INTO public.workspaces_documentcount (workspace_id, status, count)
    SELECT workspace_id, status, change FROM (VALUES
        (OLD.workspace_id, OLD.status, -1, OLD.deleted_at),
        (NEW.workspace_id, NEW.status, 1, NEW.deleted_at)
    ) AS changes (workspace_id, status, change, deleted_at) WHERE deleted_at IS NULL;
    IF random() * 100 < 1 THEN
        DECLARE
            folded uuid[] := coalesce(nullif(current_setting('documents.fold', true), ''), '{}');
            changed uuid[] := ARRAY[OLD.workspace_id, NEW.workspace_id];
        BEGIN
            IF NOT folded @> changed THEN
                PERFORM set_config('documents.fold', (folded || changed)::text, true);
            END IF;
        END;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER counts_changed
    AFTER UPDATE OF status, deleted_at, workspace_id ON documents_document
    FOR EACH ROW EXECUTE FUNCTION documents_counts_changed();

CREATE OR REPLACE FUNCTION documents_counts_fold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('documents.fold', true) <> '' THEN
        PERFORM public.workspaces_fold_counts(current_setting('documents.fold')::uuid[]);
        PERFORM set_config('documents.fold', '', true);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER counts_fold
    AFTER UPDATE OF status, deleted_at, workspace_id ON documents_document
    FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_fold();

CREATE OR REPLACE FUNCTION documents_counts_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Waits for those who are folding: the next statement sees the rows that they have added.
    LOCK TABLE public.workspaces_documentcount IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM public.workspaces_documentcount;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER counts_truncated AFTER TRUNCATE ON documents_document
    FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_truncated();
