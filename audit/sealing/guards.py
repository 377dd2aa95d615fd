"""What protects the audit log in the database: triggers, their functions, and privileges.

An owner of the tables can switch all of it off, change entries, and switch it on again. Only the
seals show that. This module finds guards that are missing or switched off. It also finds functions,
operators and casts that PostgreSQL could choose instead of its own.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, transaction

from config.connections import fetch

_MADE = (Path(__file__).parents[1] / "triggers.sql").read_text()
# The functions, by their names: what PostgreSQL stores stands between the dollars.
FUNCTIONS = dict(re.findall(r"(?s)REPLACE FUNCTION (\w+).*?\$\$(.*?)\$\$", _MADE))
_REFUSES = (
    "CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.{table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION public.audit_refuse_change()"
)
_STAMPS = (
    "CREATE TRIGGER audit_stamp BEFORE INSERT ON public.audit_auditentry "
    "FOR EACH ROW EXECUTE FUNCTION public.audit_stamp()"
)
_TRIGGERS = """
    SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger
    WHERE tgrelid = ANY (%s::regclass[]) AND NOT tgisinternal ORDER BY 1
"""
# Rules rewrite statements, policies hide rows, and a view or a generated column can show each role
# something else.
_REWRITTEN = """
    SELECT relname FROM pg_class WHERE oid = ANY (%s::regclass[]) AND (
        relkind <> 'r' OR relhasrules OR relrowsecurity OR relhassubclass OR EXISTS (
            SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attgenerated <> ''))
    ORDER BY 1
"""
_SOURCES = """
    SELECT proname, prosrc FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND proname = ANY (%s)
"""
# What a name in a statement could mean instead, but for what initdb (ids below 16384) or an
# extension has made. A schema with the name of a role comes before `public`.
_CHOSEN = """
    WITH roles AS (
        SELECT oid, rolname FROM pg_roles WHERE rolname IN (%s, 'documents_sealer')
        UNION SELECT relowner, pg_get_userbyid(relowner) FROM pg_class
        WHERE oid = 'public.audit_auditentry'::regclass
    ), made AS (
        SELECT 'pg_proc'::regclass AS class, oid AS id, pronamespace AS schema, proname AS name
        FROM pg_proc
        UNION ALL SELECT 'pg_operator'::regclass, oid, oprnamespace, '' FROM pg_operator
        UNION ALL SELECT 'pg_cast'::regclass, oid, 'public'::regnamespace, '' FROM pg_cast
        UNION ALL SELECT 'pg_namespace'::regclass, oid, 'public'::regnamespace, ''
        FROM pg_namespace WHERE nspname IN (SELECT rolname FROM roles)
    )
    SELECT pg_describe_object(class, id, 0) FROM made
    WHERE id >= 16384 AND schema IN ('public'::regnamespace, 'pg_catalog'::regnamespace)
        AND split_part(name, '_', 1) <> ALL (%s) AND NOT EXISTS (
            SELECT FROM pg_depend WHERE classid = class AND objid = id AND deptype = 'e')
    UNION ALL
    SELECT 'setting ' || setting FROM pg_db_role_setting, unnest(setconfig) AS setting
    WHERE (setrole = 0 OR setrole IN (SELECT oid FROM roles))
        AND (setdatabase = 0 OR setdatabase = (
            SELECT oid FROM pg_database WHERE datname = current_database()))
        AND split_part(setting, '=', 1) IN ('search_path', 'role')
    ORDER BY 1
"""
# In all schemas: a function of a session of the role that serves must never become the owner's.
_DEFINERS = """
    SELECT oid::regprocedure::text FROM pg_proc
    WHERE prosecdef AND pg_get_userbyid(proowner) <> %s AND (
        has_function_privilege(%s, oid, 'EXECUTE')
        OR proowner = (
            SELECT relowner FROM pg_class WHERE oid = 'public.audit_auditentry'::regclass)
        AND (pronamespace <> 'public'::regnamespace
            OR proconfig IS DISTINCT FROM '{"search_path=pg_catalog, pg_temp"}'::text[]))
    ORDER BY 1
"""
_ROLES = """
    SELECT pg_has_role(rolname, relowner, 'MEMBER'), rolcreaterole,
        has_schema_privilege(rolname, 'public', 'CREATE')
    FROM pg_roles, pg_class
    WHERE rolname = %s AND pg_class.oid = 'public.audit_auditentry'::regclass
"""
# A trigger of its own could change what is inserted.
_BEYOND = """
    SELECT grantee, relname, string_agg(DISTINCT privilege, ', ') FROM pg_class
    CROSS JOIN unnest(ARRAY[%s, 'documents_sealer']) AS grantee
    CROSS JOIN unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER']) AS privilege
    WHERE oid = ANY (%s::regclass[]) AND to_regrole(grantee) IS NOT NULL
        AND CASE WHEN privilege IN ('INSERT', 'UPDATE')
            THEN has_any_column_privilege(grantee, oid, privilege)
            ELSE has_table_privilege(grantee, oid, privilege) END
        AND NOT (privilege = 'INSERT'
            AND (relname = 'audit_auditentry' OR grantee = 'documents_sealer'))
    GROUP BY grantee, relname ORDER BY grantee, relname
"""


def problems() -> list[str]:
    """Sentences about what differs from the state after `migrate`."""
    role: str = settings.DATABASES[DEFAULT_DB_ALIAS]["USER"]
    tables = [model._meta.db_table for model in apps.get_app_config("audit").get_models()]
    names = f"{{{','.join(f'public.{table}' for table in tables)}}}"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL search_path = pg_catalog, pg_temp")
        found = [*_of_triggers(tables, names), *_of_names(role), *_of_roles(role, names)]
        cursor.execute("SET LOCAL search_path TO DEFAULT")
    return found


def _of_roles(role: str, names: str) -> Iterator[str]:
    [(owns, creates_roles, creates)] = fetch(_ROLES, [role])
    if owns:
        yield "The role of DATABASE_URL owns the tables of the audit log."
        return
    if creates_roles or creates:
        yield "The role of DATABASE_URL may create roles, or tables and functions."
    for [name] in fetch(_DEFINERS, [role, role]):
        yield f"The function {name} runs as its owner, and is not as safe as `migrate` makes it."
    for grantee, table, beyond in fetch(_BEYOND, [role, names]):
        yield f"The role {grantee} may do more with {table} than `migrate` grants: {beyond}."


def _of_names(role: str) -> Iterator[str]:
    apps_of_ours = [config.label for config in apps.get_app_configs()]
    for [what] in fetch(_CHOSEN, [role, apps_of_ours]):
        yield (
            f"The database has something that `migrate` does not make, and that can change what "
            f"statements mean: {what}."
        )


def _of_triggers(tables: list[str], names: str) -> Iterator[str]:
    wanted = {_REFUSES.format(table=table): "A" for table in tables} | {_STAMPS: "O"}
    triggers: dict[str, str] = dict(fetch(_TRIGGERS, [names]))
    for text in sorted(wanted.keys() | triggers.keys()):
        if text not in triggers:
            yield f"The database lacks a trigger: {text}."
        elif text not in wanted:
            yield f"The database has a trigger that it should not have: {text}."
        elif triggers[text] != wanted[text]:
            yield f"The database has switched a trigger off: {text}."
    for [table] in fetch(_REWRITTEN, [names]):
        yield (
            f"The table {table} has rules or policies, parts or generated columns, or is a view, "
            "which changes what statements do."
        )
    sources: dict[str, str] = dict(fetch(_SOURCES, [f"{{{','.join(FUNCTIONS)}}}"]))
    for name, source in FUNCTIONS.items():
        if sources.get(name) != source:
            yield f"The function {name} is not the one that `migrate` makes."
