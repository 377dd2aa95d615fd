"""States of the tests' database in which it does not serve everything."""

import contextlib
from collections.abc import Iterator

from django.db import connection, transaction

from tests.server import end_connections


@contextlib.contextmanager
def locked(table: str) -> Iterator[None]:
    """The table is locked by another connection, as a migration may do it."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


@contextlib.contextmanager
def read_only() -> Iterator[None]:
    """Other connections may only read, as on a standby."""
    name = connection.ops.quote_name(str(connection.settings_dict["NAME"]))
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        try:
            end_connections()
            yield
        finally:
            cursor.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            end_connections()
