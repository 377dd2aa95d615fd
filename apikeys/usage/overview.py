"""What support and operators see on the start page of the requests of all workspaces."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.db.models import Case, Max, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce, TruncHour
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.keys import today
from apikeys.usage import report
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.console.charts import Bar, bar_chart
from config.console.formatting import pill
from workspaces.models import Workspace

MOST_NAMED = 20  # workspaces that need a look, for each reason


def in_a_day() -> QuerySet[RefusedRequest]:
    return RefusedRequest.objects.filter(created_at__gte=timezone.now() - timedelta(days=1))


def last_day() -> SafeString:
    """HTML: the refused requests of each hour. A 5xx, which is our fault, is red."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    hours = [now - timedelta(hours=back) for back in reversed(range(25))]
    failed, limited = Q(status__gte=500), Q(status=429)
    rows = in_a_day().annotate(hour=TruncHour("created_at")).values_list("hour")
    sums = [Coalesce(Sum("requests", filter=only), 0) for only in (~failed, failed, limited)]
    found = {hour: counts for hour, *counts in rows.annotate(a=sums[0], b=sums[1], c=sums[2])}
    ours, theirs, over = (sum(counts[i] for counts in found.values()) for i in (1, 0, 2))
    bars = [Bar(f"{hour:%H:00} UTC", *found.get(hour, (0, 0))[:2]) for hour in hours]
    label = f"Refused requests of 24 hours: {theirs + ours:,}, of these {ours:,} with 5xx"
    context = {
        "chart": bar_chart(bars, label=label, names=("with 4xx", "with 5xx")),
        "figures": {"refused": theirs + ours, "over the limit": over, "5xx": ours},
    }
    return SafeString(render_to_string("admin/usage/panels/day.html", context))


def refused_most(most: int) -> list[RefusedRequest]:
    """The kinds of 24 hours with most requests, those with 5xx first, each as one row."""
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
    return [RefusedRequest(**each) for each in kinds.order_by(ours_first, "-requests")[:most]]


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
