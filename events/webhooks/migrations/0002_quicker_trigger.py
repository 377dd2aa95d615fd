from django.db import migrations

# The same deliveries; see 0001_webhooks. Most workspaces have no endpoint: then looking is all. Only
# the triggers on documents insert events, and they run as their owner, so this function does too: to
# set the role and the search path again would be half of its cost.
TRIGGER = """
CREATE OR REPLACE FUNCTION webhooks_add_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    endpoint uuid;
BEGIN
    FOR endpoint IN
        SELECT id FROM public.webhooks_endpoint
        WHERE workspace_id = NEW.workspace_id AND enabled AND deleted_at IS NULL
            AND NEW.type = ANY (types)
    LOOP
        INSERT INTO public.webhooks_delivery (endpoint_id, event_id, type, occurred_at,
            document_id, status, sequence, state, attempts)
        VALUES (endpoint, NEW.uuid, NEW.type, NEW.occurred_at, NEW.document_id, NEW.status,
            NEW.id, 'PENDING', 0);
    END LOOP;
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
