"""Tables without what slows a COPY down, and then again exactly as the migrations made them."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.db import connection
from psycopg import sql

from bench.progress import say

KEYS = "pux"  # primary, unique and exclusion constraints: each has an index
_CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid)
    FROM pg_constraint
    WHERE conrelid = ANY(%(tables)s::regclass[]) OR confrelid = ANY(%(tables)s::regclass[])
    ORDER BY 1, 2
"""
_INDEXES = """
    SELECT indrelid::regclass::text, indexrelid::regclass::text, pg_get_indexdef(indexrelid),
        indisvalid, EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid
            AND conrelid = indrelid)
    FROM pg_index WHERE indrelid = ANY(%(tables)s::regclass[])
    ORDER BY 1, 2
"""


def _ask(query: str, tables: Sequence[str]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, {"tables": list(tables)})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def described(tables: Sequence[str]) -> tuple[list[tuple[Any, ...]], ...]:
    """The tables' constraints and indexes."""
    return _ask(_CONSTRAINTS, tables), _ask(_INDEXES, tables)


def _do(statement: str, **names: str) -> None:
    parts = {name: sql.Identifier(value) for name, value in names.items() if name != "definition"}
    definition = sql.SQL(names.get("definition", ""))
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(statement).format(**parts, definition=definition))


def _declared(tables: Sequence[str]) -> dict[str, str]:
    """The models' indexes, as the migrations make them: name → statement.

    PostgreSQL's own text of a condition, read again, can become another text of the same.
    """
    with connection.schema_editor() as editor:
        return {
            index.name: str(index.create_sql(model, editor))
            for model in apps.get_models()
            if model._meta.db_table in tables
            for index in model._meta.indexes
        }


@contextlib.contextmanager
def stripped(tables: Sequence[str]) -> Iterator[None]:
    """Within, the tables have neither keys nor indexes. Triggers fire: once for each COPY.

    Raises:
        RuntimeError: afterwards they are not as they were.
    """
    before = described(tables)
    constraints, indexes = before
    foreign = [row for row in constraints if row[2] == "f"]
    keys = [row for row in constraints if row[2] in KEYS]
    others = [row for row in indexes if not row[4]]
    for table, name, *_ in (*foreign, *keys):
        _do("ALTER TABLE {table} DROP CONSTRAINT {name}", table=table, name=name)
    for _, name, *_ in others:
        _do("DROP INDEX {name}", name=name)
    yield
    for table, name, _, definition in keys:
        with _timed(name):
            statement = "ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"
            _do(statement, table=table, name=name, definition=definition)
    as_declared = _declared(tables)
    for _, name, definition, *_ in others:
        with _timed(name):
            _do("{definition}", definition=as_declared.get(name, definition))
    for table, name, _, definition in foreign:
        with _timed(name):
            statement = "ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"
            _do(statement, table=table, name=name, definition=definition)
    after = described(tables)
    changed = {row for b, a in zip(before, after, strict=True) for row in set(b) ^ set(a)}
    if changed:
        raise RuntimeError(f"not as before the load: {changed}")


@contextlib.contextmanager
def _timed(name: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    took = time.monotonic() - started
    if took > 1:
        say(f"  {name}: {took:.0f} s")
