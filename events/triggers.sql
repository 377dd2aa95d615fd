-- However documents are written, the events are written in the same transaction. The functions run
-- as their owner: a writer needs no privilege on the events, and can switch nothing off. They serve
-- one table only: a trigger on another one could have columns whose types run somebody else's code,
-- as the owner.
--
-- The position of an event is at least the number of its own transaction. So while that transaction
-- runs, no event with this position or a later one is shown (`events.feed`), and none is skipped.
-- It is also at least the position of the document's last event: of two transactions that change a
-- document one after the other, the first may have the greater number.

CREATE OR REPLACE FUNCTION events_added() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own bigint := pg_current_xact_id()::text::bigint;
BEGIN
    IF TG_RELID <> 'public.documents_document'::regclass THEN
        RAISE EXCEPTION 'events_added is for documents_document only';
    END IF;
    INSERT INTO public.events_event
        (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
    SELECT greatest(own, (
            SELECT max(transaction) FROM public.events_event WHERE document_id = added.id
        )), gen_random_uuid(), added.workspace_id, event.type, clock_timestamp(), added.id,
        added.status
    FROM added CROSS JOIN LATERAL (VALUES
        (1, 'document.created'), (2, 'document.' || lower(nullif(added.status, 'DRAFT')))
    ) AS event (number, type)
    WHERE added.deleted_at IS NULL AND event.type IS NOT NULL
    ORDER BY added.created_at, added.id, event.number;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION events_added() FROM PUBLIC;
CREATE OR REPLACE TRIGGER events_added
    AFTER INSERT ON documents_document REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION events_added();

-- A document that was deleted and is back, or that comes from another workspace, is a new one to the
-- consumers of the workspace. The trigger only runs when the status, the workspace or the deletion
-- changes, so a document that stays in its workspace has another status.
CREATE OR REPLACE FUNCTION events_changed() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own bigint := pg_current_xact_id()::text::bigint;
    before boolean;
    after boolean;
    stays boolean;
BEGIN
    IF TG_RELID <> 'public.documents_document'::regclass THEN
        RAISE EXCEPTION 'events_changed is for documents_document only';
    END IF;
    before := OLD.deleted_at IS NULL;
    after := TG_OP = 'UPDATE' AND NEW.deleted_at IS NULL;
    stays := before AND after AND OLD.workspace_id = NEW.workspace_id;
    IF before AND NOT stays THEN
        INSERT INTO public.events_event
            (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
        VALUES (
            greatest(own, (
                SELECT max(transaction) FROM public.events_event WHERE document_id = OLD.id
            )),
            gen_random_uuid(), OLD.workspace_id, 'document.deleted', clock_timestamp(),
            OLD.id, OLD.status
        );
    END IF;
    IF after AND NOT stays THEN
        INSERT INTO public.events_event
            (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
        VALUES (
            greatest(own, (
                SELECT max(transaction) FROM public.events_event WHERE document_id = OLD.id
            )),
            gen_random_uuid(), NEW.workspace_id, 'document.created', clock_timestamp(),
            OLD.id, NEW.status
        );
    END IF;
    IF after AND NEW.status <> 'DRAFT' THEN
        INSERT INTO public.events_event
            (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
        VALUES (
            greatest(own, (
                SELECT max(transaction) FROM public.events_event WHERE document_id = OLD.id
            )),
            gen_random_uuid(), NEW.workspace_id, 'document.' || lower(NEW.status), clock_timestamp(),
            OLD.id, NEW.status
        );
    END IF;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION events_changed() FROM PUBLIC;
CREATE OR REPLACE TRIGGER events_changed AFTER UPDATE ON documents_document FOR EACH ROW
    WHEN ((OLD.status, OLD.deleted_at IS NULL, OLD.workspace_id)
        IS DISTINCT FROM (NEW.status, NEW.deleted_at IS NULL, NEW.workspace_id))
    EXECUTE FUNCTION events_changed();
CREATE OR REPLACE TRIGGER events_removed AFTER DELETE ON documents_document FOR EACH ROW
    WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION events_changed();
