"""How many entries match the filters, by hour or by day: the chart above the list.

Counting is bounded in rows and in time. If there are too many, there is no chart; the list is never
affected.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils.safestring import SafeString
from psycopg.errors import QueryCanceled

from config.console.charts import Bar, bar_chart

MOST = 30_000  # entries that are counted
MILLISECONDS = 500  # that counting may take

HOURS_UP_TO = timedelta(days=3)  # a longer time has a bar for each day
LONGEST = timedelta(days=92)
# Ends of ranges; there are no times before and after what one around them shows.
_FIRST = datetime.min.replace(tzinfo=UTC) + LONGEST
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)


class TooMany(Exception):
    """There are more entries than can be counted for a page."""


def chart(
    entries: QuerySet[Any],
    alternatives: Sequence[Q],
    since: datetime,
    until: datetime,
    *,
    names: Sequence[str],
    url: Callable[[str], str],
) -> SafeString | None:
    """A bar for each hour or day (UTC) between two times; None if there is nothing to draw.

    Args:
        entries: filtered, with their `series` and `number`; `alternatives` are as in
            `config.console.keyset.fetch`.
        since: of a longer time, the last 92 days are shown.
        names: the series.
        url: where the bar of an hour or day leads, which is named as in the filters.

    Raises:
        TooMany: there are too many, or counting them takes too long.
    """
    until = max(min(until, _LAST), _FIRST)
    since = max(min(since, until), until - LONGEST)
    first = since.replace(minute=0, second=0, microsecond=0)
    unit, step, form, minutes = "hour", timedelta(hours=1), "%Y-%m-%d %H", ":00"
    if until - since > HOURS_UP_TO:
        first = first.replace(hour=0)
        unit, step, form, minutes = "day", timedelta(days=1), "%Y-%m-%d", ""
    count = math.floor((until - first) / step) + 1
    entries = entries.filter(created_at__gte=first, created_at__lt=first + step * count)
    columns = ("id", "created_at", "series", "number")
    found, parameters = _bounded(entries.values_list(*columns), alternatives, MOST)
    sql = f"""
        SELECT floor(extract(epoch FROM created_at - %s) / %s)::int, series, sum(number), count(*)
        FROM {found} AS found ({", ".join(columns)}) GROUP BY 1, 2
    """  # noqa: S608 - made by Django
    rows = _limited(sql, [first, step.total_seconds(), *parameters])
    if sum(row[3] for row in rows) > MOST:
        raise TooMany
    if not rows or count < 2:
        return None
    numbers = Counter({(place, series): int(number) for place, series, number, _ in rows})
    starts = [f"{first + step * place:{form}}" for place in range(count)]
    bars = [
        Bar(start + minutes, {name: numbers[place, name] for name in names}, url(start))
        for place, start in enumerate(starts)
    ]
    label = f"Entries by {unit} (UTC), {bars[0].label} to {bars[-1].label}"
    return bar_chart(bars, label=label)


def count(entries: QuerySet[Any], alternatives: Sequence[Q], most: int) -> str:
    """How many entries there are, in words if they are more than `most` or counting takes long."""
    found, parameters = _bounded(entries.values_list("id"), alternatives, most)
    try:
        [[number]] = _limited(f"SELECT count(*) FROM {found} AS found", parameters)  # noqa: S608 - as above
    except TooMany:
        return "too many to count in a moment"
    return f"more than {most:,}" if number > most else f"{number:,}"


def _bounded(entries: QuerySet[Any], alternatives: Sequence[Q], most: int) -> tuple[str, list[Any]]:
    """SQL for at most `most` + 1 of the entries, each once, with its parameters."""
    rows = entries.order_by()
    first, *others = [rows.filter(each)[: most + 1] for each in alternatives or [Q(pk__in=[0])]]
    union = first.union(*others) if others else first
    inner, parameters = union.query.sql_with_params()
    limited = f"SELECT * FROM ({inner}) AS each LIMIT {most + 1}"  # noqa: S608 - made by Django
    return f"({limited})", list(parameters)


def _limited(sql: str, parameters: list[Any]) -> list[Any]:
    """Runs a statement with a time-out of its own.

    Raises:
        TooMany: it was cancelled.
        django.db.Error: as from Django's own cursors.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {MILLISECONDS}")
            cursor.execute(sql, parameters)
            rows: list[Any] = cursor.fetchall()
            # In case this does not end the transaction.
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
            return rows
    except OperationalError as exc:
        if isinstance(exc.__cause__, QueryCanceled):
            raise TooMany from exc
        raise
