-- What the roles of deploy/roles.sql may do; the owner of the tables runs this, and may run it again.
-- A later migration whose table the serving role must not change revokes that itself.
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM documents, documents_sealer, PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO documents;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO documents;
-- Rows of the audit log are only added, and only the sealer adds seals.
REVOKE UPDATE, DELETE ON audit_auditentry FROM documents;
REVOKE INSERT, UPDATE, DELETE ON audit_checkpoint, audit_leaf, audit_subtree FROM documents;
GRANT SELECT, INSERT ON audit_auditentry, audit_checkpoint, audit_leaf, audit_subtree
    TO documents_sealer;
-- `migrate` writes these.
REVOKE INSERT, UPDATE, DELETE ON auth_group, auth_group_permissions, auth_permission,
    auth_user_user_permissions, django_admin_log, django_content_type, django_migrations
    FROM documents;
-- Triggers and `restart_events` write these, as the owner.
REVOKE INSERT, UPDATE ON events_event FROM documents;
REVOKE INSERT, UPDATE, DELETE ON events_generation FROM documents;
-- No role that serves makes temporary tables.
DO $$ BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC, documents', current_database());
END $$;
-- What these say must not change, or go.
REVOKE DELETE ON auth_user, webhooks_endpoint, workspaces_invitation, workspaces_workspace
    FROM documents;
REVOKE UPDATE ON auth_user_groups, otp_static_statictoken, webhooks_attempt FROM documents;
