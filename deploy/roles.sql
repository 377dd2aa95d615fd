-- Creates the database `documents` and its three roles: documents_owner, which owns the tables and
-- migrates them; documents, or SERVING_ROLE, which serves; and documents_sealer, which seals the
-- audit log. A superuser of PostgreSQL runs it; again, it changes the passwords:
--
--     OWNER_PASSWORD=… SERVING_PASSWORD=… SEALER_PASSWORD=… psql -X -d postgres -f deploy/roles.sql
--
-- After that, `manage.py migrate` gives the others their privileges on each table and function.

\set ON_ERROR_STOP on
\set QUIET on
\getenv owner_password OWNER_PASSWORD
\set serving_role documents
\getenv serving_role SERVING_ROLE
\getenv serving_password SERVING_PASSWORD
\getenv sealer_password SEALER_PASSWORD
SET search_path = pg_catalog;
-- No password in PostgreSQL's log.
SET log_statement = 'none';
SET log_min_duration_statement = -1;
SET log_min_error_statement = 'panic';
SET client_min_messages = 'warning';

SELECT format('CREATE ROLE %I', name)
FROM unnest(ARRAY['documents_owner', 'documents_sealer', :'serving_role']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
-- What it may see is also the text of these statements, while they run.
SELECT format('REVOKE pg_read_all_stats FROM %I', :'serving_role')
WHERE pg_has_role(:'serving_role', 'pg_read_all_stats', 'MEMBER') \gexec
ALTER ROLE documents_owner LOGIN NOSUPERUSER PASSWORD :'owner_password';
ALTER ROLE :"serving_role" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'serving_password';
ALTER ROLE documents_sealer LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'sealer_password';
-- For the API. Units of pages, of workers and commands have longer time-outs (PGOPTIONS).
ALTER ROLE :"serving_role" SET statement_timeout = '5s';
ALTER ROLE :"serving_role" SET lock_timeout = '2s';
-- A statement whose client was cut off ends after this.
ALTER ROLE :"serving_role" SET client_connection_check_interval = '1s';
-- The API's statements have one good plan for all values, and compiling one takes longer than it.
ALTER ROLE :"serving_role" SET plan_cache_mode = force_generic_plan;
ALTER ROLE :"serving_role" SET jit = off;
-- A process that hangs within a transaction holds up the others, and the feed of events.
ALTER ROLE :"serving_role" SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE documents_owner SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE documents_sealer SET idle_in_transaction_session_timeout = '60s';

SELECT 'CREATE DATABASE documents ENCODING ''UTF8'' TEMPLATE template0'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'documents') \gexec
ALTER DATABASE documents OWNER TO documents_owner;
GRANT CONNECT, TEMPORARY ON DATABASE documents TO :"serving_role"; -- imports use a temporary table
GRANT CONNECT ON DATABASE documents TO documents_sealer;
REVOKE ALL ON DATABASE documents FROM PUBLIC;
REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC;

\connect documents
-- The owner may have set another one for this database, with functions of its own in it.
SET search_path = pg_catalog;
-- A database that had one role, which goes on serving with all tables until `migrate`. Only what is in
-- `public` changes its owner, and no function that its caller would run as the owner: in any other
-- schema, such as a session's temporary one, the serving role can make what the owner must not own.
-- Nobody waits long behind this: it gives up, and can be run again.
SELECT coalesce((
    SELECT relowner = :'serving_role'::regrole FROM pg_class
    WHERE oid = to_regclass('public.django_migrations')
), false) AS had_one_role \gset
\if :had_one_role
SELECT count(pg_terminate_backend(pid, 5000)) AS ended FROM pg_stat_activity
WHERE datname = current_database() AND usename = :'serving_role' \gset
BEGIN;
SET LOCAL lock_timeout = '500ms';
SELECT format('ALTER TABLE %s OWNER TO documents_owner', oid::regclass) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relowner = :'serving_role'::regrole
    AND relkind IN ('r', 'p', 'v', 'm', 'S')
    AND NOT EXISTS ( -- a column's sequence, which follows its table
        SELECT FROM pg_depend
        WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype IN ('a', 'i')
    ) \gexec
SELECT format('ALTER ROUTINE %s OWNER TO documents_owner', oid::regprocedure) FROM pg_proc
WHERE pronamespace = 'public'::regnamespace AND proowner = :'serving_role'::regrole
    AND (prorettype = 'trigger'::regtype OR NOT prosecdef) \gexec
DROP OWNED BY :"serving_role" CASCADE; -- also revokes
GRANT CONNECT, TEMPORARY ON DATABASE documents TO :"serving_role";
GRANT ALL ON ALL TABLES IN SCHEMA public TO :"serving_role";
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO :"serving_role";
COMMIT;
\endif
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- So that the page System and `manage.py doctor` name the session that holds others up.
GRANT pg_read_all_stats TO :"serving_role";
