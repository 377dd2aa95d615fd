"""What pages show of the usage of keys; the last few seconds are not in it yet.

Each query reads a range of one index.
"""

from collections import defaultdict
from datetime import date, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet, Sum
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.keys import today
from apikeys.usage.models import KeyUsage
from config.console.charts import Bar, bar_chart

DAYS = 30


class Usage(NamedTuple):
    """Requests with a response of 2xx or 3xx, of 4xx or 5xx, and of 429; and downloads."""

    ok: int = 0
    errors: int = 0
    limited: int = 0
    downloads: int = 0

    @property
    def requests(self) -> int:
        return self.ok + self.errors + self.limited

    def __str__(self) -> str:
        """ "1,204 requests, 3 errors, 6 over the limit"."""
        parts = [f"{self.requests:,} request{'' if self.requests == 1 else 's'}"]
        if self.errors:
            parts.append(f"{self.errors:,} error{'' if self.errors == 1 else 's'}")
        if self.limited:
            parts.append(f"{self.limited:,} over the limit")
        return ", ".join(parts)


Days = dict[date, Usage]  # the last 30, today included: the oldest first, also without requests


def daily(rows: QuerySet[KeyUsage], of: str) -> dict[Any, Days]:
    """The usage by a field of these rows, such as "key_id". A value without rows has zeros."""
    days = [today() - timedelta(days=back) for back in reversed(range(DAYS))]
    found: dict[Any, Days] = defaultdict(lambda: dict.fromkeys(days, Usage()))
    rows_of_days = rows.filter(day__in=days).values(of, "day")
    sums = [Sum(name) for name in Usage._fields]
    for each, day, *usage in rows_of_days.values_list(of, "day", *sums):
        found[each][day] = Usage(*usage)
    return found


def total(days: Days) -> Usage:
    return Usage(*map(sum, zip(*days.values(), strict=True)))


def chart(days: Days, *, small: bool = False) -> SafeString:
    """A stacked bar for each day; "" if there were no requests."""
    usage = total(days)
    bars = []
    for day, each in days.items():
        stacked = each._asdict()
        line = {"downloads": stacked.pop("downloads")}
        bars.append(Bar(day, stacked, line={} if small else line))
    label = f"{DAYS} days: {usage}" if small else f"Requests on each of the last {DAYS} days (UTC)"
    return bar_chart(bars, label=label, small=small) if usage.requests else SafeString("")


def panel(name: str, days: Days, workspace_id: UUID | None = None) -> SafeString:
    context = {"name": name, "usage": total(days), "chart": chart(days), "id": workspace_id}
    return render_to_string("admin/usage/panels/usage.html", context)
