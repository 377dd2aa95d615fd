"""What protects the audit log in the database: triggers, their functions, and privileges.

An owner of the tables can switch all of it off, change entries, and switch it on again. Only the
seals show that; this shows what was left off, or was never there.
"""

from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS

from config.database import fetch

# SHA-256 of each function's source in `audit/triggers.sql`.
FUNCTIONS = {
    "audit_refuse_change": "100a6f96b5bc06021787a352d30b52dad8effc0476f713f1f55b11cb647ff1c9",
    "audit_stamp": "fc0f99fd72a2b7657a3ae8ad9c483d54855077f1b1507108bd5e2212d91c57da",
}
_REFUSES = (
    "CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.{table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change()"
)
_STAMPS = (
    "CREATE TRIGGER audit_stamp BEFORE INSERT ON public.audit_auditentry "
    "FOR EACH ROW EXECUTE FUNCTION audit_stamp()"
)
_TRIGGERS = """
    SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger
    WHERE tgrelid = ANY (%s::regclass[]) AND NOT tgisinternal ORDER BY 1
"""
# Rules rewrite statements, and policies hide rows.
_REWRITTEN = """
    SELECT relname FROM pg_class
    WHERE oid = ANY (%s::regclass[]) AND (relhasrules OR relrowsecurity) ORDER BY 1
"""
_SOURCES = """
    SELECT proname, encode(sha256(convert_to(prosrc, 'UTF8')), 'hex') FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND proname = ANY (%s)
"""
# In all schemas: a function of a session of the role that serves must never become the owner's.
_DEFINERS = """
    SELECT oid::regprocedure::text FROM pg_proc
    WHERE prosecdef AND pg_get_userbyid(proowner) <> %s AND (
        has_function_privilege(%s, oid, 'EXECUTE')
        OR proowner = (SELECT relowner FROM pg_class WHERE oid = 'audit_auditentry'::regclass) AND (
            pronamespace <> 'public'::regnamespace
            OR proconfig IS DISTINCT FROM '{"search_path=pg_catalog, pg_temp"}'::text[]))
    ORDER BY 1
"""
_ROLES = """
    SELECT pg_has_role(rolname, relowner, 'MEMBER'), rolcreaterole,
        has_schema_privilege(rolname, 'public', 'CREATE')
    FROM pg_roles, pg_class
    WHERE rolname = %s AND pg_class.oid = 'audit_auditentry'::regclass
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
    """What is not as `migrate` leaves it, a sentence each.

    Raises:
        django.db.Error: the database is out of reach.
    """
    role: str = settings.DATABASES[DEFAULT_DB_ALIAS]["USER"]
    [(owns, creates_roles, creates)] = fetch(_ROLES, [role])
    found = [*_of_triggers()]
    if owns:
        return [*found, "The role of DATABASE_URL owns the tables of the audit log."]
    if creates_roles or creates:
        found.append("The role of DATABASE_URL may create roles, or tables and functions.")
    found += [
        f"The function {name} runs as its owner, and is not as safe as `migrate` makes it."
        for [name] in fetch(_DEFINERS, [role, role])
    ]
    found += [
        f"The role {role} may do more with {table} than `migrate` grants: {beyond}."
        for role, table, beyond in fetch(_BEYOND, [role, f"{{{','.join(_tables())}}}"])
    ]
    return found


def _tables() -> list[str]:
    return [model._meta.db_table for model in apps.get_app_config("audit").get_models()]


def _of_triggers() -> Iterator[str]:
    tables = _tables()
    wanted = {_REFUSES.format(table=table): "A" for table in tables} | {_STAMPS: "O"}
    names = f"{{{','.join(tables)}}}"
    triggers: dict[str, str] = dict(fetch(_TRIGGERS, [names]))
    for text in sorted(wanted.keys() | triggers.keys()):
        if text not in triggers:
            yield f"The database lacks a trigger: {text}."
        elif text not in wanted:
            yield f"The database has a trigger that it should not have: {text}."
        elif triggers[text] != wanted[text]:
            yield f"The database has switched a trigger off: {text}."
    for [table] in fetch(_REWRITTEN, [names]):
        yield f"The table {table} has rules or policies, which change what statements do."
    sources: dict[str, str] = dict(fetch(_SOURCES, [f"{{{','.join(FUNCTIONS)}}}"]))
    for name, digest in FUNCTIONS.items():
        if sources.get(name) != digest:
            yield f"The function {name} is not the one that `migrate` makes."
