-- Creates the database `documents` and its three roles: documents_owner, which owns the tables and
-- migrates them; documents, which serves; and documents_sealer, which seals the audit log, if it has
-- a password. A superuser of PostgreSQL runs it, or where there is none (a managed PostgreSQL), a role
-- with CREATEDB and CREATEROLE, better with pg_read_all_stats WITH ADMIN OPTION: it warns of what such a
-- role may not do. Run again, it changes the passwords:
--
--     OWNER_PASSWORD=… SERVING_PASSWORD=… SEALER_PASSWORD=… psql -X -d postgres -f deploy/roles.sql
--
-- After that, `manage.py migrate` gives the others their privileges (config/privileges.sql).

\set ON_ERROR_STOP on
\set QUIET on
\getenv owner_password OWNER_PASSWORD
\getenv serving_password SERVING_PASSWORD
\getenv sealer_password SEALER_PASSWORD
SET search_path = pg_catalog;
SET client_min_messages = 'warning';
SELECT current_setting('is_superuser') = 'off' AS managed,
    pg_has_role('pg_read_all_stats', 'MEMBER WITH ADMIN OPTION') AS may_grant_stats \gset
\if :managed
\warn 'Not by a superuser: PostgreSQL may log the passwords. Everybody may connect to its other databases.'
\set attributes LOGIN
\else
-- No password in PostgreSQL's log.
SET log_statement = 'none';
SET log_min_duration_statement = -1;
SET log_min_error_statement = 'panic';
\set attributes 'LOGIN NOSUPERUSER'
\endif

SELECT format('CREATE ROLE %I', name)
FROM unnest(ARRAY['documents_owner', 'documents_sealer', 'documents']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
-- What it may see is also the text of these statements, while they run.
SELECT 'REVOKE pg_read_all_stats FROM documents'
WHERE pg_has_role('documents', 'pg_read_all_stats', 'MEMBER') AND :'may_grant_stats' \gexec
ALTER ROLE documents_owner :attributes PASSWORD :'owner_password';
ALTER ROLE documents :attributes NOCREATEDB NOCREATEROLE PASSWORD :'serving_password';
\if :{?sealer_password}
ALTER ROLE documents_sealer :attributes NOCREATEDB NOCREATEROLE PASSWORD :'sealer_password';
\endif
-- For the API. Pages and workers have longer time-outs, commands that a person starts none (PGOPTIONS).
ALTER ROLE documents SET statement_timeout = '5s';
ALTER ROLE documents SET lock_timeout = '2s';
-- A statement whose client was cut off ends after this.
ALTER ROLE documents SET client_connection_check_interval = '1s';
-- The API's statements have one good plan for all values, and compiling one takes longer than it.
ALTER ROLE documents SET plan_cache_mode = force_generic_plan;
ALTER ROLE documents SET jit = off;
-- A process that hangs within a transaction holds up the others, and the feed of events.
ALTER ROLE documents SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE documents_owner SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE documents_sealer SET idle_in_transaction_session_timeout = '60s';

SELECT 'CREATE DATABASE documents ENCODING ''UTF8'' TEMPLATE template0'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'documents') \gexec
\if :managed
-- Until the end, what the owner may do.
GRANT documents_owner TO CURRENT_USER;
\else
REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC;
\endif
ALTER DATABASE documents OWNER TO documents_owner;
-- No temporary tables: a type of the serving role's own could run its code as another role.
REVOKE ALL ON DATABASE documents FROM PUBLIC, documents;
GRANT CONNECT ON DATABASE documents TO documents, documents_sealer;

\connect documents
-- The owner may have set another one for this database, with functions of its own in it.
SET search_path = pg_catalog;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
\if :may_grant_stats
-- So that `manage.py check --deploy --database default` names the session that holds others up.
GRANT pg_read_all_stats TO documents;
\else
\warn 'Not granted, as pg_read_all_stats is not ours to grant: checks do not see what holds others up.'
\endif
\if :managed
REVOKE documents_owner FROM CURRENT_USER;
\endif
