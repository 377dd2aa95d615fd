"""What support and operators see on the start page of the requests of all workspaces."""

from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import F, Max, Sum, Value
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.usage import report
from apikeys.usage.models import KeyUsage, RefusedRequest
from apikeys.usage.report import refused_in_a_day
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


def last_day(most: Any) -> SafeString:
    """HTML: how many requests were refused, and the rows of `refused_most`."""
    sums = refused_in_a_day().values_list("status").annotate(sum=Sum(EACH))
    by_status = Counter(dict(sums))
    day = filtered(REFUSED, within="24h")
    figures = [
        ("in all", by_status.total(), day),
        ("over the limit", by_status[429], f"{day}&status__exact=429"),
        ("500, errors of ours", by_status[500], f"{day}&status__exact=500"),
        ("503, out of reach", by_status[503], f"{day}&status__exact=503"),
    ]
    context = {"figures": figures, "lines": most, "url": day}
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
