-- Rows are only added. The triggers have no switch; ALWAYS covers session_replication_role too.
CREATE OR REPLACE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: rows are only added', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;
CREATE OR REPLACE TRIGGER audit_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE OR REPLACE TRIGGER audit_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_leaf
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE OR REPLACE TRIGGER audit_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_subtree
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE OR REPLACE TRIGGER audit_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_checkpoint
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
ALTER TABLE audit_auditentry ENABLE ALWAYS TRIGGER audit_append_only;
ALTER TABLE audit_leaf ENABLE ALWAYS TRIGGER audit_append_only;
ALTER TABLE audit_subtree ENABLE ALWAYS TRIGGER audit_append_only;
ALTER TABLE audit_checkpoint ENABLE ALWAYS TRIGGER audit_append_only;

-- The database sets an entry's id and time, for every role. The function runs as its owner, so that
-- the role that serves needs no privilege on the sequence. The transaction gets its number before
-- the entry gets its id: `audit.sealing.sealer` depends on that order. It serves one table only: a
-- trigger on another one could have columns whose types run somebody else's code, as the owner.
ALTER TABLE audit_auditentry ALTER COLUMN id DROP IDENTITY IF EXISTS;
CREATE SEQUENCE IF NOT EXISTS audit_auditentry_id_seq OWNED BY audit_auditentry.id;
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
CREATE OR REPLACE TRIGGER audit_stamp BEFORE INSERT ON audit_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_stamp();
