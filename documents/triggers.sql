-- Each change appends rows to the denormalised counts. Appending never waits; with a counter that is
-- updated, the writers of a workspace queue, and two that update counters in different order deadlock.
-- Housekeeping folds the rows (`workspaces/counts.py`).
--
-- Inserts and deletes are summed up by statement. Statement triggers with transition tables cannot be
-- limited to columns, so updates use a row trigger (UPDATE OF …). A WHEN clause was slower than the check
-- inside. (The trigger does not see a column that a BEFORE trigger sets; there is none.)

CREATE OR REPLACE FUNCTION documents_counts_added_removed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO public.workspaces_documentcount (workspace_id, status, count)
    SELECT workspace_id, status, change * count(*) FROM changed WHERE deleted_at IS NULL
    GROUP BY workspace_id, status;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER counts_added
    AFTER INSERT ON documents_document REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_added_removed();
CREATE OR REPLACE TRIGGER counts_removed
    AFTER DELETE ON documents_document REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_added_removed();

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
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER counts_changed
    AFTER UPDATE OF status, deleted_at, workspace_id ON documents_document
    FOR EACH ROW EXECUTE FUNCTION documents_counts_changed();

CREATE OR REPLACE FUNCTION documents_counts_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Waits for housekeeping: the next statement sees the rows that it has folded.
    LOCK TABLE public.workspaces_documentcount IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM public.workspaces_documentcount;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER counts_truncated AFTER TRUNCATE ON documents_document
    FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_truncated();
