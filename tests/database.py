"""States of the tests' database in which it does not serve everything."""

import contextlib
from collections.abc import Iterator

from django.apps import apps
from django.db import connection, transaction

from config.postgresql import roles
from tests.server import end_connections


@contextlib.contextmanager
def locked(table: str) -> Iterator[None]:
    """The table is locked by another connection, as a migration may do it."""
    with roles.as_owner(), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


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
