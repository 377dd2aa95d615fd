-- The deliveries of an event are added in its transaction; a workspace without endpoints costs a
-- look. Only the triggers on documents insert events. They run as their owner, with a safe search
-- path, and so does this function: a writer of documents needs no privilege on the endpoints, and
-- sees no secret.
CREATE OR REPLACE FUNCTION webhooks_add_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM public.webhooks_endpoint
        WHERE workspace_id = NEW.workspace_id AND enabled AND deleted_at IS NULL
            AND NEW.type = ANY (types)
    ) THEN
        INSERT INTO public.webhooks_delivery (endpoint_id, workspace_id, event_id, type,
            occurred_at, document_id, status, sequence, state, attempts)
        SELECT id, workspace_id, NEW.uuid, NEW.type, NEW.occurred_at, NEW.document_id, NEW.status, NEW.id,
            'PENDING', 0
        FROM public.webhooks_endpoint
        WHERE workspace_id = NEW.workspace_id AND enabled AND deleted_at IS NULL
            AND NEW.type = ANY (types);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER webhooks_add_deliveries AFTER INSERT ON events_event
    FOR EACH ROW EXECUTE FUNCTION webhooks_add_deliveries();
