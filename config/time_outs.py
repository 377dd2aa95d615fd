"""Time-outs for parts of a page: each part may fail alone."""

import contextlib
from collections.abc import Iterator

from django.db import Error, connection


@contextlib.contextmanager
def part_limits(seconds: float) -> Iterator[None]:
    """Ends each statement of a part of a page, or of a check, after so many seconds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, false)", [f"{seconds}s"])
    try:
        yield
    finally:
        with contextlib.suppress(Error), connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")
