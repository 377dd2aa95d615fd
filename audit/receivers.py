"""Records migrations."""

from typing import Any

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.dispatch import receiver

from audit.models import Action
from audit.record import record
from config.request_context import actor
from config.signals import migrated


@receiver(migrated)
def record_migrations(*, names: list[str], **kwargs: Any) -> None:
    loader = MigrationLoader(connection)
    if set(loader.graph.leaf_nodes("audit")) <= loader.applied_migrations.keys():  # else no table
        record(Action.COMMAND_RUN, by=actor(), detail=f"Migrations: {', '.join(names)}")
