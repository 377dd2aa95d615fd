"""Deliveries to endpoints by day, as charts."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.console.charts import Bar, bar_chart
from events.webhooks.models import TEST_EVENT, UNDELIVERED, Delivery, DeliveryState
from events.webhooks.policy import KEEP

NAMES = ("delivered", "failed")


def charts(ids: Iterable[UUID], *, small: bool = False) -> Iterator[tuple[UUID, SafeString]]:
    """HTML for each endpoint: its deliveries of the last 30 days (UTC), without tests, and a bar
    for each day; "" if there were none. One that will be tried again has failed so far."""
    ids, today = list(ids), datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in reversed(range(KEEP.days))]
    delivered = Q(state=DeliveryState.DELIVERED)
    rows = (
        Delivery.objects.filter(delivered | UNDELIVERED, endpoint__in=ids)
        .exclude(type=TEST_EVENT)
        .values("endpoint_id", day=TruncDate("created_at"))
        .annotate(delivered=Count("pk", filter=delivered), failed=Count("pk", filter=UNDELIVERED))
    )
    numbers = {(row["endpoint_id"], row["day"]): (row["delivered"], row["failed"]) for row in rows}
    for id in ids:
        bars = [Bar(f"{day:%-d %b}", *numbers.get((id, day), (0, 0))) for day in days]
        sums = (sum(bar.number for bar in bars), sum(bar.red for bar in bars))
        text = ", ".join(f"{n:,} {name}" for n, name in zip(sums, NAMES, strict=True) if n)
        label = f"Deliveries on each of the last {len(days)} days (UTC)"
        chart = bar_chart(bars, label=f"{label}: {text}", names=NAMES, small=small)
        yield id, format_html("{} <div>{}</div>", chart, text) if text else SafeString("")
