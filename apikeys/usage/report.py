"""What pages show of the usage of keys; the last few seconds are not in it yet.

Each query reads a range of one index.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.db.models import QuerySet, Sum
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from apikeys.keys import today
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.console.charts import Bar, bar_chart
from config.console.links import REFUSED, filtered

DAYS = 30


class Usage(NamedTuple):
    """Requests with a response of 2xx or 3xx, of 4xx or 5xx, and of 429; and downloads."""

    ok: int = 0
    errors: int = 0
    limited: int = 0
    downloads: int = 0

    @property
    def requests(self) -> int:
        return self.ok + self.refused

    @property
    def refused(self) -> int:
        return self.errors + self.limited


Days = dict[date, Usage]  # the last 30, today included: the oldest first, also without requests


def _days() -> list[date]:
    return [today() - timedelta(days=back) for back in reversed(range(DAYS))]


def daily(rows: QuerySet[KeyUsage], of: str) -> dict[Any, Days]:
    """The usage by a field of these rows, such as "key_id". A value without rows has zeros."""
    days = _days()
    found: dict[Any, Days] = defaultdict(lambda: dict.fromkeys(days, Usage()))
    sums = [Sum(name) for name in Usage._fields]
    rows_of_days = rows.filter(day__in=days).values(of, "day")
    for each, day, *usage in rows_of_days.values_list(of, "day", *sums):
        found[each][day] = Usage(*usage)
    return found


def total(usage: Iterable[Usage]) -> Usage:
    return Usage(*map(sum, zip(*usage, strict=True)))


def summed(of: Collection[Days]) -> Days:
    """The days of all these together."""
    return {day: total(days[day] for days in of) for day in _days()}


def chart(days: Days, *, small: bool = False) -> SafeString:
    """A bar for each day; "" if there were requests on fewer than two."""
    usage = total(days.values())
    bars = [Bar(f"{day:%-d %b}", each.ok, each.refused) for day, each in days.items()]
    label = f"Requests of {DAYS} days (UTC): {usage.requests:,}; {usage.refused:,} were refused"
    return bar_chart(bars, label=label, names=("successful", "refused"), small=small)


def panel(days: Days, name: str = "", **of: Any) -> SafeString:
    """The figures and the chart. `of` narrows the list of refused requests that they link to."""
    context = {
        "name": name,
        "usage": total(days.values()),
        "chart": chart(days),
        "refused_url": filtered(REFUSED, **of),
        "limited_url": filtered(REFUSED, status__exact=429, **of),
    }
    return SafeString(render_to_string("admin/usage/panels/usage.html", context))


def refused_in_a_day() -> QuerySet[RefusedRequest]:
    return RefusedRequest.objects.filter(created_at__gte=timezone.now() - timedelta(days=1))
