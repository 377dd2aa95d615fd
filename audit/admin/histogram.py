"""How many entries match the filters, by hour or by day: for the chart above the list.

Counting is bounded in rows and in time. If there are too many, there is no chart; the list is never
affected.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet

from config.runtime.database import current

MOST = 30_000  # entries that are counted
MILLISECONDS = 500  # that counting may take

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURS_UP_TO = timedelta(days=3)
LONGEST = timedelta(days=92)  # a longer range shows its last days
# Ends of ranges; there are no times before and after what one around them shows.
_FIRST = datetime.min.replace(tzinfo=UTC) + LONGEST
_LAST = datetime.max.replace(tzinfo=UTC) - DAY


class TooMany(Exception):
    """There are more entries than can be counted for a page."""


@dataclass(frozen=True)
class Range:
    """The time that a chart shows, in whole hours or days of UTC.

    Attributes:
        first: the start of the first hour or day.
        step: an hour or a day.
        count: how many of them.
    """

    first: datetime
    step: timedelta
    count: int

    @classmethod
    def of(cls, since: datetime, until: datetime) -> "Range":
        """The range that includes both ends; the last 92 days of a longer one."""
        until = max(min(until, _LAST), _FIRST)
        since = max(min(since, until), until - LONGEST)
        hourly = until - since <= HOURS_UP_TO
        step = HOUR if hourly else DAY
        first = since.replace(minute=0, second=0, microsecond=0)
        if not hourly:
            first = first.replace(hour=0)
        return cls(first, step, math.floor((until - first) / step) + 1)

    def starts(self) -> list[datetime]:
        return [self.first + self.step * number for number in range(self.count)]

    @property
    def form(self) -> str:
        """How a start is written, also in the filters."""
        return "%Y-%m-%d %H" if self.step == HOUR else "%Y-%m-%d"


Counted = Counter[tuple[int, str]]  # by the number of the hour or day, and the series


def count_by_time(entries: QuerySet[Any], alternatives: Sequence[Q], shown: Range) -> Counted:
    """Counts the entries of each hour or day.

    Args:
        entries: filtered, with their `series` and `number`; `alternatives` are as in
            `config.console.keyset.fetch`.

    Raises:
        TooMany: there are too many, or counting them takes too long.
    """
    last = shown.first + shown.step * shown.count
    entries = entries.filter(created_at__gte=shown.first, created_at__lt=last)
    columns = ("id", "created_at", "series", "number")
    found, parameters = _bounded(entries.values_list(*columns), alternatives, MOST)
    sql = f"""
        SELECT floor(extract(epoch FROM created_at - %s) / %s)::int, series, sum(number), count(*)
        FROM {found} AS found ({", ".join(columns)}) GROUP BY 1, 2
    """  # noqa: S608 - made by Django
    rows = _limited(sql, [shown.first, shown.step.total_seconds(), *parameters])
    if sum(row[3] for row in rows) > MOST:
        raise TooMany
    return Counter({(step, series): int(number) for step, series, number, _ in rows})


def count(entries: QuerySet[Any], alternatives: Sequence[Q], most: int) -> int:
    """How many entries there are, up to `most` + 1.

    Raises:
        TooMany: counting them takes too long.
    """
    found, parameters = _bounded(entries.values_list("id"), alternatives, most)
    [[number]] = _limited(f"SELECT count(*) FROM {found} AS found", parameters)  # noqa: S608 - as above
    return int(number)


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
        TooMany: it was cancelled, or failed otherwise.
    """
    try:
        # The time-out is no sign that the database fails, so the circuit breaker must not count it.
        with current().guard(counts=False), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {MILLISECONDS}")
            cursor.execute(sql, parameters)
            rows: list[Any] = cursor.fetchall()
            cursor.execute(
                "SET LOCAL statement_timeout = DEFAULT"
            )  # if this is no transaction's end
            return rows
    except DatabaseError as exc:
        raise TooMany from exc
