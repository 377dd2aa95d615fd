"""What pages show of the usage of keys and of refused requests, but for the last few seconds."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Max, Min, Q, QuerySet, Sum
from django.db.models.functions import TruncHour
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from apikeys.throttling import REQUESTS_PER_MINUTE
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.console.charts import Bar, bar_chart
from config.console.formatting import Bad, Quiet
from config.console.links import REFUSED, filtered, key_link

MOST, LATEST = 60, 5  # kinds of refused requests, and those on a page of other things
STATUSES = {429: "over the limit", 500: "500, errors of ours", 503: "503, out of reach"}
KIND = ("status", "reason")
OF_KEY = ("key_id", "key_name", "key_prefix", "workspace_id", "workspace_name")
SUMMED, GREATEST = ("ok", "errors", "limited", "downloads"), ("busiest", "last_at")  # columns
NAMES = {"successful": "ok", "refused or failed": "warn"}  # of bars, and their colours
BY_FAULT = {"successful": "ok", "refused": "warn", "failed with 5xx": "bad"}
# A key's refusals for which its workspace needs a look.
LOOKS = Q(status__in=[401, 402, 403, 429]) | Q(requests__gte=100)


def last_days() -> list[date]:
    today = timezone.now().date()  # in UTC
    return [today - timedelta(days=back) for back in reversed(range(30))]


def by_day(rows: QuerySet[KeyUsage], *fields: str) -> list[KeyUsage]:
    """The sums of these rows by day, and by these fields: `key_id` or `workspace_id`."""
    sums = {name: Sum(name) for name in SUMMED}
    most = {name: Max(name) for name in GREATEST}
    found: Any = rows.filter(day__in=last_days()).values("day", *fields)
    return [KeyUsage(**each) for each in found.annotate(**sums, **most)]


def addresses(key_id: UUID) -> list[KeyUsage]:
    """Each address and client that was the last one of a day, the newest first."""
    rows = KeyUsage.objects.filter(key_id=key_id, day__in=last_days()).order_by("day")
    found = {(row.address, row.user_agent): row for row in rows}
    return sorted(found.values(), key=lambda row: row.last_at, reverse=True)


def total(usage: Collection[KeyUsage]) -> KeyUsage:
    sums = {name: sum(getattr(each, name) for each in usage) for name in SUMMED}
    most = {name: max(getattr(each, name) for each in usage) for name in GREATEST if usage}
    return KeyUsage(**sums, **most, day=last_days()[0])


def chart(usage: Iterable[KeyUsage], *, small: bool = False) -> SafeString:
    """A bar for each day; "" if there were requests on fewer than two."""
    by_day = {each.day: each for each in usage}
    days = [(day, by_day.get(day, KeyUsage())) for day in last_days()]
    bars = [Bar(f"{day:%-d %b}", (each.ok, each.refused)) for day, each in days]
    return bar_chart(bars, label="Requests by day", names=NAMES, small=small)


def panel(rows: QuerySet[KeyUsage], name: str = "", **of: Any) -> SafeString:
    """HTML: the figures and the chart. `of` narrows the refused requests that they link to."""
    days = by_day(rows)
    usage = total(days)
    context = {
        "name": name,
        "usage": usage,
        "busiest": min(usage.busiest, REQUESTS_PER_MINUTE),
        "limit": REQUESTS_PER_MINUTE,
        "chart": chart(days),
        "url": filtered(REFUSED, **of, since=usage.day) if of else "",  # else some have no key
    }
    return SafeString(render_to_string("admin/usage/panels/usage.html", context))


def refused_within(**period: float) -> QuerySet[RefusedRequest]:
    return RefusedRequest.objects.filter(created_at__gte=timezone.now() - timedelta(**period))


def kinds(rows: Any, *fields: str, having: Q | None = None, **more: Any) -> list[Any]:
    """Sums of these rows by these fields, each as one row; the largest first."""
    ends = {"id": Max("id"), "created_at": Min("created_at"), "last_at": Max("last_at")}
    sums = rows.values(*fields).annotate(**ends, requests=Sum("requests"), **more)
    largest = sums.filter(having or Q()).order_by("-requests")[:MOST]
    return [RefusedRequest(**each) for each in largest]


def faults(rows: QuerySet[RefusedRequest]) -> list[Any]:
    """Kinds of failed requests, each with the names of the workspaces that it hit."""
    hit = StringAgg("workspace_name", ", ", distinct=True, filter=~Q(workspace_name=""))
    return kinds(rows.filter(status__gte=500), *KIND, workspace_name=hit)


def by_hour(day: date) -> list[int]:
    """The successful requests of all keys in each hour of the day (UTC)."""
    rows = list(KeyUsage.objects.filter(day=day).values_list("hours", flat=True))
    return [sum(hours[hour] for hours in rows) for hour in range(24)]


def day_panel(most: Any) -> SafeString:
    """HTML: the requests of 24 hours, by hour too, and some rows of the log of refused ones."""
    by_status, refused, failed = Counter[int](), Counter[int](), Counter[int]()
    now, hours = timezone.now(), range(24, -1, -1)  # hours ago
    ok = by_hour(now.date() - timedelta(days=1)) + by_hour(now.date())  # from yesterday's midnight
    rows = refused_within(days=1).values_list("status", TruncHour("created_at"))
    for status, hour, number in rows.annotate(number=Sum("requests")):
        by_status[status] += number
        kind = failed if status >= 500 else refused
        kind[max((now - hour) // timedelta(hours=1), 0)] += number  # a row may be newer than `now`
    counts = {ago: (ok[24 + now.hour - ago], refused[ago], failed[ago]) for ago in hours}
    bars = [Bar(f"{ago} h ago" if ago else "now", each) for ago, each in counts.items()]
    chart = bar_chart(bars, label="Requests by hour", names=BY_FAULT)
    day, requests = filtered(REFUSED, within="24h"), sum(map(sum, counts.values()))
    figures = [("requests", requests, ""), ("refused or failed", by_status.total(), day)]
    figures += [(name, by_status[n], f"{day}&status__exact={n}") for n, name in STATUSES.items()]
    context = {"figures": figures, "lines": most, "url": day, "chart": chart}
    return SafeString(render_to_string("admin/usage/panels/day.html", context))


def colour_of(row: RefusedRequest) -> str:
    """Of a kind of refused requests: "quiet" if it is over, or nobody has to act."""
    minutes = 1 if row.status == 503 else 5  # a check soon says that a part works again
    is_over = row.last_at < timezone.now() - timedelta(minutes=minutes)
    if row.status == 401 and row.key_id:  # of an ended key, somebody has to act later too
        return "warn" if is_over else "bad"
    if is_over or row.status in (402, 403):
        return "quiet"
    if row.status >= 500:
        return "bad"
    return "warn" if row.key_id and (row.status == 429 or row.requests >= 100) else "quiet"


def needs_a_look(visible: Q, *, own: bool) -> Iterator[tuple[UUID, str, SafeString]]:
    """Workspaces whose programs do not notice that they are refused."""
    rows = refused_within(days=1).filter(visible, status__lt=500, key_id__isnull=False)
    texts = StringAgg("response_text", " ", distinct=True)
    for row in kinds(rows, *OF_KEY, "status", having=LOOKS, response_text=texts):
        kind = {"bad": Bad, "quiet": Quiet}.get(colour_of(row), SafeString)
        context = {"row": row, "who": key_link(row, REFUSED, own=own)}
        why = render_to_string("admin/usage/look.html", context)
        yield row.workspace_id, row.workspace_name, kind(why)
