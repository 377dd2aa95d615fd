"""What pages show of the usage of keys and of refused requests, but for the last few seconds.

Each query reads a range of one index.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Max, QuerySet, Sum, Value
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.keys import today
from apikeys.throttling import REQUESTS_PER_MINUTE
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.console.charts import Bar, bar_chart
from config.console.formatting import Bad, pill
from config.console.links import REFUSED, filtered, key_link

DAYS = 30
MOST = 60  # kinds of refused requests
# A workspace needs a look if its programs go on with these statuses; the worst first.
LOOKS = {
    401: pill("bad", "ended key still used"),
    429: pill("warn", "over the limit"),
    403: pill("", "suspended, still asks"),
}


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


def last_days() -> list[date]:
    return [today() - timedelta(days=back) for back in reversed(range(DAYS))]


def daily(rows: QuerySet[KeyUsage], of: str) -> dict[Any, Days]:
    """The usage by a field of these rows, such as "key_id". A value without rows has zeros."""
    days = last_days()
    found: dict[Any, Days] = defaultdict(lambda: dict.fromkeys(days, Usage()))
    sums = [Sum(name) for name in Usage._fields]
    rows_of_days = rows.filter(day__in=days).values(of, "day")
    for each, day, *usage in rows_of_days.values_list(of, "day", *sums):
        found[each][day] = Usage(*usage)
    return found


def addresses(key_id: UUID) -> list[KeyUsage]:
    """Each address and client that was the last one of a day, the newest first."""
    rows = KeyUsage.objects.filter(key_id=key_id, day__in=last_days()).order_by("day")
    found = {(row.address, row.user_agent): row for row in rows}
    return sorted(found.values(), key=lambda row: row.last_at, reverse=True)


def total(usage: Iterable[Usage]) -> Usage:
    return Usage(*map(sum, zip(*usage, strict=True)))


def chart(days: Days, *, small: bool = False) -> SafeString:
    """A bar for each day; "" if there were requests on fewer than two."""
    usage = total(days.values())
    bars = [Bar(f"{day:%-d %b}", each.ok, each.refused) for day, each in days.items()]
    label = f"Requests of {DAYS} days (UTC): {usage.requests:,}; {usage.refused:,} were refused"
    return bar_chart(bars, label=label, names=("successful", "refused"), small=small)


def panel(rows: QuerySet[KeyUsage], name: str = "", **of: Any) -> SafeString:
    """HTML: the figures and the chart. `of` narrows the refused requests that they link to."""
    days = daily(rows.annotate(every=Value("")), "every")[""]
    busiest = rows.filter(day__in=days).aggregate(most=Max("busiest", default=0))["most"]
    context = {
        "name": name,
        "usage": total(days.values()),
        "busiest": min(busiest, REQUESTS_PER_MINUTE),
        "limit": REQUESTS_PER_MINUTE,
        "chart": chart(days),
        "refused_url": filtered(REFUSED, **of),
        "limited_url": filtered(REFUSED, status__exact=429, **of),
    }
    return SafeString(render_to_string("admin/usage/panels/usage.html", context))


# --- Refused requests of 24 hours


def refused_in_a_day() -> QuerySet[RefusedRequest]:
    return RefusedRequest.objects.filter(created_at__gte=timezone.now() - timedelta(days=1))


def kinds(rows: QuerySet[RefusedRequest], *fields: str) -> list[Any]:
    """Sums of these rows by key and by these fields, each as one row; the largest first."""
    key = ("key_id", "key_name", "key_prefix", "workspace_id", "workspace_name")
    sums: Any = rows.values(*key, *fields).annotate(id=Max("id"), requests=Sum("requests"))
    return [RefusedRequest(**each) for each in sums.order_by("-requests")[:MOST]]


def refused_panel(most: Any) -> SafeString:
    """HTML: how many requests were refused, and some rows of a log."""
    sums = refused_in_a_day().values("status").annotate(Sum("requests"), Sum("others"))
    by_status, others = Counter[int](), 0
    for each in sums:
        by_status[each["status"]] = each["requests__sum"]
        others += each["others__sum"]
    day = filtered(REFUSED, within="24h")
    figures = [
        ("in all", by_status.total() + others, day),
        ("over the limit", by_status[429], f"{day}&status__exact=429"),
        ("500, errors of ours", by_status[500], f"{day}&status__exact=500"),
        ("503, out of reach", by_status[503], f"{day}&status__exact=503"),
    ]
    context = {"figures": figures, "lines": most, "url": day}
    return SafeString(render_to_string("admin/usage/panels/day.html", context))


def needs_a_look() -> Iterator[tuple[UUID, str, SafeString]]:
    """Workspaces whose programs do not notice that they are refused."""
    found = kinds(refused_in_a_day().filter(status__in=LOOKS, key_id__isnull=False), "status")
    for row in sorted(found, key=lambda row: list(LOOKS).index(row.status)):
        key = key_link(row, REFUSED, own=False)
        text = "{} {} {} × {} in 24 hours"
        why = format_html(text, LOOKS[row.status], key, f"{row.requests:,}", row.status)
        yield row.workspace_id, row.workspace_name, Bad(why) if row.status == 401 else why
