"""What support and operators see on the start page of the requests of all workspaces."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, Max, Q, Sum, Value
from django.db.models.functions import TruncHour
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.usage import report
from apikeys.usage.models import KeyUsage, RefusedRequest
from apikeys.usage.report import refused_in_a_day
from config.console.charts import Bar, bar_chart
from config.console.formatting import pill
from config.console.links import REFUSED, filtered

MOST_NAMED = 60  # reasons why workspaces need a look
EACH = F("requests") + F("others")
# A workspace needs a look if its programs go on with these statuses.
LOOKS = {  # the worst first
    401: pill("bad", "ended key still used"),
    429: pill("warn", "over the limit"),
    403: pill("", "suspended, still asks"),
}


def last_day() -> SafeString:
    """HTML: the refused requests of each hour, and figures. Successful ones are counted by day."""
    rows = refused_in_a_day().annotate(hour=TruncHour("created_at"), known=Q(key_id__isnull=False))
    by_hour: Counter[datetime] = Counter()
    by_status: Counter[int] = Counter()
    by_known: Counter[bool] = Counter()
    sums = rows.values_list("hour", "status", "known").annotate(sum=Sum(EACH))
    for hour, status, known, requests in sums:
        by_hour[hour] += requests
        by_status[status] += requests
        by_known[known] += requests
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    hours = [now - timedelta(hours=back) for back in reversed(range(25))]
    bars = [Bar(f"{hour:%H:00} UTC", 0, by_hour[hour]) for hour in hours]
    label = f"Refused requests of 24 hours: {by_status.total():,}"
    day = filtered(REFUSED, within="24h")
    context = {
        "chart": bar_chart(bars, label=label, names=("", "refused")),
        "figures": [
            ("in all", by_status.total(), day),
            ("of workspaces", by_known[True], ""),
            ("of others", by_known[False], ""),
            ("over the limit", by_status[429], f"{day}&status__exact=429"),
            ("500, errors of ours", by_status[500], f"{day}&status__exact=500"),
            ("503, out of reach", by_status[503], f"{day}&status__exact=503"),
        ],
    }
    return SafeString(render_to_string("admin/usage/panels/day.html", context))


def refused_most(most: int) -> list[RefusedRequest]:
    """The kinds of 24 hours with most requests, each as one row."""
    key = ("key_id", "key_name", "key_prefix", "workspace_id", "workspace_name")
    kinds = refused_in_a_day().values(*key, "status", "reason")
    kinds = kinds.annotate(id=Max("id"), requests=Sum("requests")).order_by("-requests")
    return [RefusedRequest(**kind) for kind in kinds[:most]]


def needs_a_look() -> Iterator[tuple[UUID, str, SafeString]]:
    """Workspaces whose programs do not notice that they are refused."""
    rows: Any = refused_in_a_day().filter(status__in=LOOKS, workspace_id__isnull=False)
    sums = rows.values("workspace_id", "workspace_name", "status").annotate(sum=Sum(EACH))
    most = sums.order_by("-sum")[:MOST_NAMED]
    worst_first = list(LOOKS)
    for each in sorted(most, key=lambda each: worst_first.index(each["status"])):
        text, status = "{} {} requests got {} in 24 hours", each["status"]
        why = format_html(text, LOOKS[status], f"{each['sum']:,}", status)
        yield each["workspace_id"], each["workspace_name"], why


def everything() -> SafeString:
    days = report.daily(KeyUsage.objects.annotate(every=Value("")), "every")
    return report.panel(days[""], "All workspaces")
