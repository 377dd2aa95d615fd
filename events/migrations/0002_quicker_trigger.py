from django.db import migrations

# The same events in one statement; see 0001_events. The trigger only runs when the status, the
# workspace or the deletion changes, so a document that stays in its workspace has another status.
CHANGED = """
CREATE OR REPLACE FUNCTION events_changed() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own bigint := pg_current_xact_id()::text::bigint;
    before boolean := OLD.deleted_at IS NULL;
    after boolean := TG_OP = 'UPDATE' AND NEW.deleted_at IS NULL;
    stays boolean := before AND after AND OLD.workspace_id = NEW.workspace_id;
BEGIN
    INSERT INTO public.events_event
        (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
    SELECT greatest(own, (
            SELECT max(transaction) FROM public.events_event WHERE document_id = OLD.id
        )), gen_random_uuid(), event.workspace_id, 'document.' || event.type, clock_timestamp(),
        OLD.id, event.status
    FROM (VALUES
        (1, before AND NOT stays, OLD.workspace_id, 'deleted', OLD.status),
        (2, after AND NOT stays, NEW.workspace_id, 'created', NEW.status),
        (3, after AND NEW.status <> 'DRAFT', NEW.workspace_id, lower(NEW.status), NEW.status)
    ) AS event (number, happened, workspace_id, type, status)
    WHERE event.happened ORDER BY event.number;
    RETURN NULL;
END
$$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0001_events'),
    ]

    operations = [
        migrations.RunSQL(CHANGED, migrations.RunSQL.noop),
    ]
