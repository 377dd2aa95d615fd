"""Migrations that the database lacks: for the server's start, its health and the commands."""

import contextlib
import sys

from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

_complete = False


def unapplied() -> list[str]:
    """The names of the migrations of this release that the database lacks, as "auth.0001_initial".

    Once there are none, it does not ask the database again in this process.

    Raises:
        django.db.Error: the database is out of reach.
    """
    global _complete
    if _complete:
        return []
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    _complete = not plan
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def require() -> None:
    """Ends the process with one line if the database lacks migrations.

    A database that is out of reach is no reason to end: it may come back.
    """
    with contextlib.suppress(InterfaceError, OperationalError):
        if missing := unapplied():
            others = f" and {len(missing) - 1} more" if missing[1:] else ""
            sys.exit(
                f"The database lacks the migration {missing[0]}{others}. "
                "Run: python manage.py migrate"
            )
