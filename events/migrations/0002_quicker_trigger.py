from django.db import migrations


def added(row, type):
    """SQL that adds an event of the row, OLD or NEW."""
    return f"""
        INSERT INTO public.events_event
            (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
        VALUES (
            greatest(own, (
                SELECT max(transaction) FROM public.events_event WHERE document_id = OLD.id
            )),
            gen_random_uuid(), {row}.workspace_id, {type}, clock_timestamp(), OLD.id, {row}.status
        );"""


# The events of 0001_events, each with one short statement. The trigger only runs when the status, the
# workspace or the deletion changes, so a document that stays in its workspace has another status.
CHANGED = f"""
CREATE OR REPLACE FUNCTION events_changed() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own bigint := pg_current_xact_id()::text::bigint;
    before boolean := OLD.deleted_at IS NULL;
    after boolean := TG_OP = 'UPDATE' AND NEW.deleted_at IS NULL;
    stays boolean := before AND after AND OLD.workspace_id = NEW.workspace_id;
BEGIN
    IF before AND NOT stays THEN
        {added('OLD', "'document.deleted'")}
    END IF;
    IF after AND NOT stays THEN
        {added('NEW', "'document.created'")}
    END IF;
    IF after AND NEW.status <> 'DRAFT' THEN
        {added('NEW', "'document.' || lower(NEW.status)")}
    END IF;
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
