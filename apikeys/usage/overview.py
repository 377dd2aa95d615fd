"""What support and operators see on the start page of the requests of all workspaces."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Case, F, Max, Q, QuerySet, Sum, Value, When
from django.db.models.functions import TruncHour
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.keys import today
from apikeys.models import ApiKey
from apikeys.usage import report
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.console.charts import Bar, bar_chart
from config.console.formatting import pill
from config.console.links import REFUSED, filtered
from workspaces.models import Workspace

MOST_NAMED = 20  # workspaces that need a look, for each reason
EACH = F("requests") + F("others")
FIGURES = {401: "without a valid key", 429: "over the limit", 500: "500", 503: "503"}


def in_a_day() -> QuerySet[RefusedRequest]:
    return RefusedRequest.objects.filter(created_at__gte=timezone.now() - timedelta(days=1))


def last_day() -> SafeString:
    """HTML: the refused requests of each hour, and figures that lead to their lists."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    hours = [now - timedelta(hours=back) for back in reversed(range(25))]
    rows = in_a_day().annotate(hour=TruncHour("created_at"), has_key=Q(key_id__isnull=False))
    sums = rows.values_list("hour", "status", "has_key").annotate(sum=Sum(EACH))
    by_hour: Counter[datetime] = Counter()
    by_status: Counter[int] = Counter()
    valid = 0
    for hour, status, has_key, requests in sums:
        by_hour[hour] += requests
        by_status[status] += requests
        if has_key and status != 401:
            valid += requests
    bars = [Bar(f"{hour:%H:00} UTC", 0, by_hour[hour]) for hour in hours]
    label = f"Refused requests of 24 hours: {by_status.total():,}"
    day = {"within": "24h"}
    context = {
        "chart": bar_chart(bars, label=label, names=("", "refused")),
        "figures": [
            ("refused with a valid key", valid, filtered(REFUSED, **day)),
            *(
                (name, by_status[status], filtered(REFUSED, status__exact=status, **day))
                for status, name in FIGURES.items()
            ),
        ],
    }
    return SafeString(render_to_string("admin/usage/panels/day.html", context))


def refused_most(most: int) -> list[RefusedRequest]:
    """The kinds of 24 hours with most requests, or with 5xx; each as one row, the newest first."""
    same = (
        "key_id",
        "key_name",
        "key_prefix",
        "workspace_id",
        "workspace_name",
        "status",
        "reason",
    )
    kinds = (
        in_a_day()
        .values(*same)
        .annotate(
            id=Max("id"),
            created_at=Max("last_at"),
            requests=Sum("requests"),
            address=Max("address"),
        )
    )
    ours_first = Case(When(status__gte=500, then=0), default=1)
    rows = [RefusedRequest(**each) for each in kinds.order_by(ours_first, "-requests")[:most]]
    return sorted(rows, key=lambda row: row.created_at, reverse=True)


def over_the_limit() -> Iterator[tuple[UUID, SafeString]]:
    limited = KeyUsage.objects.filter(day=today(), limited__gt=0).values_list("workspace_id")
    for id, requests in limited.annotate(sum=Sum("limited")).order_by("-sum")[:MOST_NAMED]:
        word = pill("warn", "over the limit")
        yield id, format_html("{} {} requests today", word, f"{requests:,}")


def still_asking() -> Iterator[tuple[UUID, SafeString]]:
    """Suspended workspaces whose programs still send requests."""
    suspended = Workspace.objects.filter(suspended=True).values("pk")
    rows = in_a_day().filter(status=403, workspace_id__in=suspended).values_list("workspace_id")
    for id, requests in rows.annotate(sum=Sum("requests")).order_by("-sum")[:MOST_NAMED]:
        word = pill("", "suspended")
        yield id, format_html("{} still asks: {} requests in 24 hours", word, f"{requests:,}")


def ended_keys() -> Iterator[tuple[UUID, SafeString]]:
    """Workspaces whose programs still send keys that have ended."""
    rows = in_a_day().filter(status=401, key_id__in=ApiKey.objects.values("pk"))
    by_workspace = rows.values_list("workspace_id").annotate(sum=Sum(EACH))
    for id, requests in by_workspace.order_by("-sum")[:MOST_NAMED]:
        word = pill("bad", "ended key still used")
        yield id, format_html("{} {} requests got 401 in 24 hours", word, f"{requests:,}")


def looks(reasons: dict[UUID, list[SafeString]]) -> SafeString:
    """HTML: the workspaces that need a look, and why."""
    usage = report.daily(KeyUsage.objects.filter(workspace_id__in=list(reasons)), "workspace_id")
    workspaces = Workspace.objects.in_bulk(list(reasons))
    rows = [
        (workspaces[id], report.chart(usage[id], small=True), why)
        for id, why in reasons.items()
        if id in workspaces
    ]
    return SafeString(render_to_string("admin/usage/panels/looks.html", {"rows": rows}))


def everything() -> SafeString:
    days = report.daily(KeyUsage.objects.annotate(every=Value("")), "every")
    return report.panel(days[""], "All workspaces")
