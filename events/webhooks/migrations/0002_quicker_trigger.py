from django.db import migrations

ENDPOINTS = """
    FROM public.webhooks_endpoint
    WHERE workspace_id = NEW.workspace_id AND enabled AND deleted_at IS NULL
        AND NEW.type = ANY (types)
"""
# The deliveries of 0001_webhooks; a workspace without endpoints costs a look. Only the triggers on
# documents insert events. They run as their owner, with a safe search path, and so does this function.
TRIGGER = f"""
CREATE OR REPLACE FUNCTION webhooks_add_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT {ENDPOINTS}) THEN
        INSERT INTO public.webhooks_delivery (endpoint_id, event_id, type, occurred_at,
            document_id, status, sequence, state, attempts)
        SELECT id, NEW.uuid, NEW.type, NEW.occurred_at, NEW.document_id, NEW.status, NEW.id,
            'PENDING', 0
        {ENDPOINTS};
    END IF;
    RETURN NULL;
END
$$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('webhooks', '0001_webhooks'),
    ]

    operations = [
        migrations.RunSQL(TRIGGER, migrations.RunSQL.noop),
    ]
