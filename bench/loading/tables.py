"""What the loaders share: queries, and tables without indexes while they are filled."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.db import connection

from bench import log


class NotAsLoaded(Exception):
    """The database does not hold what the measurements are about."""


def check(what: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise NotAsLoaded(f"{what}: {found}, not {wanted}")


def query(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


@contextlib.contextmanager
def without_indexes(tables: Sequence[str]) -> Iterator[None]:
    """Removes the indexes that the models declare, and creates them again at the end.

    Those of constraints and foreign keys stay.
    """
    models = [model for model in apps.get_models() if model._meta.db_table in tables]
    indexes = [(model, index) for model in models for index in model._meta.indexes]
    with connection.schema_editor() as editor:
        for model, index in indexes:
            editor.remove_index(model, index)
    yield
    log("  indexes …")
    for model, index in indexes:
        with connection.schema_editor() as editor:
            editor.add_index(model, index)
