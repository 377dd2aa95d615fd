"""Deliveries to endpoints by day, as charts."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.console.charts import Bar, bar_chart
from events.webhooks.models import TEST_EVENT, UNDELIVERED, Delivery, DeliveryState
from events.webhooks.policy import KEEP

LABEL = f"Deliveries on each of the last {KEEP.days} days (UTC): {{}}"


def charts(endpoints: Sequence[UUID], *, small: bool = False) -> dict[UUID, SafeString]:
    """HTML for each endpoint: its deliveries of the last 30 days (UTC), without tests, and a bar
    for each day; "" if there were none. One that will be tried again has failed so far.

    It reads all these deliveries: 100,000 of an endpoint in about 0.2 s.
    """
    delivered = Q(state=DeliveryState.DELIVERED)
    rows = (
        Delivery.objects.filter(delivered | UNDELIVERED, endpoint__in=endpoints)
        .exclude(type=TEST_EVENT)
        .values_list("endpoint_id", TruncDate("created_at"))
        .annotate(ok=Count("pk", filter=delivered), failed=Count("pk", filter=UNDELIVERED))
    )
    numbers = {(id, day): (ok, failed) for id, day, ok, failed in rows}
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in reversed(range(KEEP.days))]
    found = {}
    for id in endpoints:
        bars = [Bar(f"{day:%-d %b}", *numbers.get((id, day), (0, 0))) for day in days]
        found[id] = _chart(bars, small)
    return found


def _chart(bars: list[Bar], small: bool) -> SafeString:
    delivered, failed = sum(bar.number for bar in bars), sum(bar.red for bar in bars)
    parts = [f"{delivered:,} delivered"] if delivered else []
    parts += [f"{failed:,} failed"] if failed else []
    text = ", ".join(parts)
    names = ("delivered", "failed")
    chart = bar_chart(bars, label=LABEL.format(text), names=names, small=small)
    return format_html("{} <div>{}</div>", chart, text) if text else SafeString("")
