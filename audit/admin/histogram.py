"""How many entries match the filters, by hour or by day: for the chart above the list.

Counting is bounded in rows and in time. If there are too many, there is no chart; the list is never
affected.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet

from audit.models import DOWNLOADS
from config.runtime.database import current

MOST = 30_000  # entries that are counted
MILLISECONDS = 500  # that reading them may take

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

    def starts(self) -> list[str]:
        """The starts of the hours or days, as the filters have them."""
        form = "%Y-%m-%d %H" if self.step == HOUR else "%Y-%m-%d"
        return [f"{self.first + self.step * number:{form}}" for number in range(self.count)]


def count_by_time(
    entries: QuerySet[Any], alternatives: Sequence[Q], shown: Range
) -> list[dict[str, int]]:
    """Counts the downloads and the other entries of each hour or day.

    Args:
        entries: filtered; `alternatives` are as in `config.console.keyset.fetch`.

    Raises:
        TooMany: there are too many, or reading them takes too long.
    """
    last = shown.first + shown.step * shown.count
    within = entries.filter(created_at__gte=shown.first, created_at__lt=last)
    found = read(within, alternatives, MOST)
    if len(found) > MOST:
        raise TooMany
    numbers = Counter(
        ((time - shown.first) // shown.step, action in DOWNLOADS) for time, action in found
    )
    return [
        {"downloads": numbers[step, True], "other": numbers[step, False]}
        for step in range(shown.count)
    ]


def read(
    entries: QuerySet[Any], alternatives: Sequence[Q], most: int
) -> Collection[tuple[datetime, str]]:
    """The time and the action of each of the entries; of some, if there are more than `most`.

    Raises:
        TooMany: reading them takes too long.
    """
    found: dict[int, tuple[datetime, str]] = {}
    columns = entries.order_by().values_list("id", "created_at", "action")
    with time_limit():
        for each in alternatives:
            found |= {id: (time, action) for id, time, action in columns.filter(each)[: most + 1]}
            if len(found) > most:
                break
    return found.values()


@contextmanager
def time_limit() -> Iterator[None]:
    """Statements within it have a time-out of their own.

    Raises:
        TooMany: one was cancelled, or failed otherwise.
    """
    try:
        # The time-out is no sign that the database fails, so the circuit breaker must not count it.
        with current().guard(counts=False), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {MILLISECONDS}")
            yield
            # If this is no transaction's end.
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
    except DatabaseError as exc:
        raise TooMany from exc
