"""The database roles: one owns the tables and migrates them, one serves, one seals the audit log.

The role of DATABASE_URL serves. It may do with each table what the model's PRIVILEGES say, and
nothing with tables that are no model's. DATABASE_OWNER_URL is the same database, as its owner:
`migrate` needs it, and a server must not have it. DATABASE_SEALER_URL is for `seal_audit`: its role
has the SEALER_PRIVILEGES of models. `deploy/roles.sql` creates the roles.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import dj_database_url
from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, transaction
from psycopg import sql

SEALER = "documents_sealer"
PRIVILEGES = "SELECT, INSERT, UPDATE, DELETE"  # of a model that does not say otherwise
# Of models in other packages. `migrate` writes what may only be read.
THIRD_PARTY = {
    "auth_group": "SELECT",
    "auth_group_permissions": "SELECT",
    "auth_permission": "SELECT",
    "auth_user": "SELECT, INSERT, UPDATE",
    "auth_user_groups": "SELECT, INSERT, DELETE",
    "auth_user_user_permissions": "SELECT",
    "django_admin_log": "SELECT",
    "django_content_type": "SELECT",
    "otp_static_statictoken": "SELECT, INSERT, DELETE",
}

Privileges = dict[str, set[str]]  # by table

# What a role may do with the tables and sequences, by whatever way it got there.
_GRANTED = """
    SELECT relname, privilege_type
    FROM pg_class CROSS JOIN LATERAL (
        SELECT * FROM aclexplode(relacl)
        UNION ALL
        SELECT acl.* FROM pg_attribute, aclexplode(attacl) AS acl WHERE attrelid = pg_class.oid
    ) AS acl
    WHERE relnamespace = 'public'::regnamespace AND CASE grantee
        WHEN 0 THEN true ELSE pg_has_role(%s, grantee, 'USAGE') END
"""
# Only triggers call the functions that run as their owner: a role that could make a trigger of one
# could run its own code as the owner. Other functions do what the caller may do anyway.
_FUNCTIONS = """
    DO $$ DECLARE function record; BEGIN
        FOR function IN SELECT oid::regprocedure AS name, prosecdef FROM pg_proc
            WHERE proowner = current_user::regrole AND prokind = 'f'
        LOOP
            IF function.prosecdef THEN
                EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', function.name);
            ELSE
                EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', function.name);
            END IF;
        END LOOP;
    END $$;
    ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
"""


def as_owner() -> contextlib.AbstractContextManager[None]:
    """This thread's connection belongs to the owner meanwhile; not within a transaction.

    Without DATABASE_OWNER_URL, the role of DATABASE_URL has to be the owner.
    """
    return _as_role(settings.DATABASE_OWNER_URL)


def as_sealer() -> contextlib.AbstractContextManager[None]:
    """This thread's connection belongs to the sealer meanwhile; not within a transaction.

    Without DATABASE_SEALER_URL, it stays as it is.
    """
    return _as_role(settings.DATABASE_SEALER_URL)


@contextlib.contextmanager
def _as_role(url: str) -> Iterator[None]:
    before = connection.settings_dict
    connection.close()
    if url:
        role: dict[str, Any] = dict(dj_database_url.parse(url))
        same = ("USER", "PASSWORD", "HOST", "PORT")
        connection.settings_dict = {**before, **{name: role[name] for name in same}}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = before


def serving_role() -> str:
    """The role of DATABASE_URL."""
    role: str = settings.DATABASES[DEFAULT_DB_ALIAS]["USER"]
    return role


def declared() -> dict[str, Privileges]:
    """What the roles that do not own the tables may do.

    Where there is no sealer, since `deploy/roles.sql` did not run, the role that serves seals.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [SEALER])
        sealer = SEALER if cursor.fetchone() is not None else serving_role()
    found: dict[str, Privileges] = defaultdict(lambda: defaultdict(set))
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        serving = getattr(model, "PRIVILEGES", THIRD_PARTY.get(table, PRIVILEGES))
        sealing = getattr(model, "SEALER_PRIVILEGES", "")
        for role, words in ((serving_role(), serving), (sealer, sealing)):
            if words:
                found[role][table].update(words.split(", "))
    found[serving_role()]["django_migrations"].add("SELECT")
    return found


def granted(role: str) -> Privileges:
    """What a role may do with the tables and sequences that exist."""
    found: Privileges = defaultdict(set)
    with connection.cursor() as cursor:
        cursor.execute(_GRANTED, [role])
        for table, privilege in cursor.fetchall():
            found[table].add(privilege)
    return found


def grant_privileges() -> None:
    """Gives the roles their privileges on the tables that exist, and takes any others away.

    Raises:
        django.db.Error: this connection's role does not own the tables.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_FUNCTIONS)
        if serving_role() == connection.settings_dict["USER"]:
            return  # an installation with one role
        existing = set(connection.introspection.table_names(cursor))
        for name, privileges in declared().items():
            role = sql.Identifier(name)
            everything = sql.SQL("REVOKE ALL ON ALL {kind} IN SCHEMA public FROM {role}, PUBLIC")
            for kind in ("TABLES", "SEQUENCES"):
                cursor.execute(everything.format(kind=sql.SQL(kind), role=role))
            for table in sorted(privileges.keys() & existing):
                words = sql.SQL(", ".join(sorted(privileges[table])))
                grant = sql.SQL("GRANT {words} ON {table} TO {role}")
                cursor.execute(grant.format(words=words, table=sql.Identifier(table), role=role))
