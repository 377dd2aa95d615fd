from django.db import migrations

# A trigger on another table could have columns whose types run somebody else's code, as the owner.
GUARDED = """
CREATE OR REPLACE FUNCTION audit_stamp() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_RELID <> 'public.audit_auditentry'::regclass THEN
        RAISE EXCEPTION 'audit_stamp is for audit_auditentry only';
    END IF;
    PERFORM pg_current_xact_id();
    NEW.id := nextval('public.audit_auditentry_id_seq');
    NEW.created_at := clock_timestamp();
    RETURN NEW;
END
$$;
REVOKE EXECUTE ON FUNCTION audit_stamp() FROM PUBLIC;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0009_labels_in_python'),
    ]

    operations = [
        migrations.RunSQL(GUARDED, migrations.RunSQL.noop),
    ]
