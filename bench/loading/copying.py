"""COPY of many made-up rows."""

from collections.abc import Iterable, Sequence
from itertools import islice

from django.db import connection

from bench.progress import Progress

BATCH = 2_000  # rows sent at a time
NULL = "\\N"  # COPY's own word for it


def copy(table: str, columns: Sequence[str], lines: Iterable[str], what: str, total: int) -> None:
    """Adds rows to a table.

    Args:
        lines: rows in COPY's text format, without their line ends.
        what: the rows in words, for the progress.
        total: how many rows there are.
    """
    progress = Progress(what, total)
    named = ", ".join(f'"{column}"' for column in columns)
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({named}) FROM STDIN") as into:
        rows = iter(lines)
        while batch := list(islice(rows, BATCH)):
            into.write("\n".join(batch) + "\n")
            progress.add(len(batch))
