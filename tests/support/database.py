"""States of the tests' database that the role that serves cannot make."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from config.connections import fetch
from tests.support import roles
from tests.support.server import ROOT, end_connections


def url_of(database: str, variable: str = "DATABASE_OWNER_URL") -> str:
    """The variable's URL, for a database of the tests' server."""
    return urlsplit(os.environ[variable])._replace(path=f"/{database}").geturl()


def execute(*statements: str) -> None:
    """Executes them in one transaction, which is rolled back if one is refused."""
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextlib.contextmanager
def executed() -> Iterator[list[str]]:
    """The statements that are executed inside; the list is filled when it ends."""
    statements: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield statements
    statements += [query["sql"] for query in captured]


@contextlib.contextmanager
def locked(table: str) -> Iterator[None]:
    """The table is locked by another connection, as a migration may do it."""
    with roles.as_owner(), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


@contextlib.contextmanager
def renamed(table: str) -> Iterator[None]:
    """The table is gone for a while: a defect as real as any."""
    execute(f"ALTER TABLE {table} RENAME TO elsewhere")
    try:
        yield
    finally:
        execute(f"ALTER TABLE elsewhere RENAME TO {table}")


@contextlib.contextmanager
def without_triggers() -> Iterator[None]:
    """The owner, whose connection this must be, has switched off what protects the audit log."""
    tables = [model._meta.db_table for model in apps.get_app_config("audit").get_models()]
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
            cursor.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER audit_append_only")


def waiting_for_lock() -> int:
    """How many connections to the tests' database wait for a lock; autovacuum has no role."""
    waiting = (
        "SELECT DISTINCT pid FROM pg_locks JOIN pg_stat_activity USING (pid) "
        "WHERE NOT granted AND datname = current_database() AND usename IS NOT NULL"
    )
    fetch("SELECT pg_stat_clear_snapshot()", [])  # in a transaction, connections are listed once
    return len(fetch(waiting, []))


def refused_at_once(
    change: Callable[[Any], object],
    things: Iterable[Any],
    error: type[Exception] = ValidationError,
) -> list[Any]:
    """Changes all things at the same moment; returns those whose change was refused."""
    things = list(things)
    together = Barrier(len(things))

    def is_refused(thing: Any) -> bool:
        with contextlib.closing(connection):
            together.wait()
            try:
                change(thing)
            except error:
                return True
            return False

    with ThreadPoolExecutor(len(things)) as pool:
        refused = list(pool.map(is_refused, things))
    return [thing for thing, was in zip(things, refused, strict=True) if was]


# Their rows are made by `migrate`; no test commits a change of them.
_KEPT = {"auth_group", "auth_group_permissions", "auth_permission", "django_content_type"}


def empty_tables() -> None:
    """Empties the tables after a test whose changes were committed.

    Waits for transactions of others, so that none adds rows afterwards. Django's `flush` takes
    three times as long: it truncates empty tables too, and makes all permissions again.
    """
    tables = sorted(set(connection.introspection.django_table_names(only_existing=True)) - _KEPT)
    rows = " UNION ALL ".join(
        f"SELECT '{each}' WHERE EXISTS (SELECT FROM {each})" for each in tables
    )
    with roles.as_owner(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        cursor.execute(rows)
        if filled := [table for [table] in cursor.fetchall()]:
            with without_triggers():
                cursor.execute(f"TRUNCATE {', '.join(filled)} CASCADE")


# Runs as its owner, so that a test need not. Only while it is used: guards refuse such a function.
_BACKDATE = b"""
    CREATE SCHEMA tests;
    GRANT USAGE ON SCHEMA tests TO documents;
    CREATE FUNCTION tests.backdate(ids bigint[], times timestamptz[]) RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
    BEGIN
        ALTER TABLE audit_auditentry DISABLE TRIGGER audit_append_only;
        UPDATE audit_auditentry AS entry SET created_at = given.time
            FROM unnest(ids, times) AS given (id, time) WHERE entry.id = given.id;
        ALTER TABLE audit_auditentry ENABLE ALWAYS TRIGGER audit_append_only;
    END
    $$;
    GRANT EXECUTE ON FUNCTION tests.backdate TO documents;
"""


def backdated(entries: Iterable[AuditEntry]) -> list[AuditEntry]:
    """Adds entries with the times that they have; the database would set the present one."""
    entries = list(entries)
    times = [entry.created_at for entry in entries]
    added = AuditEntry.objects.bulk_create(entries)
    for entry, time in zip(added, times, strict=True):
        entry.created_at = time
    url = url_of(str(connection.settings_dict["NAME"]))
    with psycopg.connect(url, autocommit=True) as owner, connection.cursor() as cursor:
        owner.execute(_BACKDATE)
        try:
            cursor.execute("SELECT tests.backdate(%s, %s)", [[entry.pk for entry in added], times])
        finally:
            owner.execute("DROP SCHEMA tests CASCADE")
    return added


@contextlib.contextmanager
def no_entries() -> Iterator[None]:
    """The role that serves cannot add entries to the audit log; not within a transaction."""
    with roles.as_owner():
        execute("REVOKE INSERT ON audit_auditentry FROM documents")
    try:
        yield
    finally:
        grant_privileges()


PRIVILEGES = (ROOT / "config" / "privileges.sql").read_text()


def grant_privileges() -> None:
    """Gives the roles their privileges again, as `migrate` has done."""
    with roles.as_owner():
        execute(PRIVILEGES)


def privileges(role: str) -> dict[str, set[str]]:
    """What a role may do with the tables and sequences, by whatever way it got there."""
    rows = fetch(
        """
        SELECT relname::text, privilege_type::text
        FROM pg_class CROSS JOIN LATERAL (
            SELECT * FROM aclexplode(relacl)
            UNION ALL
            SELECT acl.* FROM pg_attribute, aclexplode(attacl) AS acl WHERE attrelid = pg_class.oid
        ) AS acl
        WHERE relnamespace = 'public'::regnamespace
            AND CASE grantee WHEN 0 THEN true ELSE pg_has_role(%s, grantee, 'USAGE') END
        """,
        [role],
    )
    found: dict[str, set[str]] = {}
    for table, privilege in rows:
        found.setdefault(table, set()).add(privilege)
    return found


def whole_database() -> dict[str, list[str]]:
    """The rows of each table as texts, sorted; bytes in them are hexadecimal."""
    return {
        table: sorted(text for [text] in fetch(f"SELECT t::text FROM {table} t", []))  # noqa: S608
        for table in privileges("documents")
    }


@contextlib.contextmanager
def read_only() -> Iterator[None]:
    """Other connections may only read, as on a standby."""
    _alter_database("SET default_transaction_read_only = on")
    try:
        end_connections()
        yield
    finally:
        _alter_database("RESET default_transaction_read_only")
        end_connections()


def _alter_database(change: str) -> None:
    name = connection.ops.quote_name(str(connection.settings_dict["NAME"]))
    with roles.as_owner(), connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = off")
        cursor.execute(f"ALTER DATABASE {name} {change}")
