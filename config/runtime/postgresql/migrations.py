"""Migrations that the database lacks."""

from django.db import connection
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
