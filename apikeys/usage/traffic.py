"""The load of all instances: requests, how long they took, and failures.

Each process adds its numbers to the same few rows: one for each five minutes and bucket of time.
"""

from bisect import bisect_left
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Sum
from django.utils import timezone

from apikeys.usage.buffers import Batch, Buffer, columns, instant
from apikeys.usage.models import Traffic

PERIOD = 5 * 60  # seconds
MILLISECONDS = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000)  # the ends of the buckets
LONGER = 60_000  # the bucket of all others


def add(status: int, seconds: float, now: float) -> None:
    """Counts a request to the API.

    Args:
        seconds: until its response began.
        now: seconds since the epoch.
    """
    bucket = bisect_left(MILLISECONDS, seconds * 1000)
    with TRAFFIC.lock:
        row = TRAFFIC.row((now // PERIOD * PERIOD, bucket), [0, 0])
        if row is not None:
            row[0] += 1
            row[1] += status >= 500


def figures() -> list[tuple[str, list[str]]]:
    """What was measured → in the last hour, in the last 24 hours."""
    each = [_of_last(hours) for hours in (1, 24)]
    return [
        ("Requests to the API", [f"{requests:,}" for requests, _, _ in each]),
        ("95 % of them took at most", [p95 for _, _, p95 in each]),
        ("Failed (5xx)", [f"{failed / (requests or 1):.2%}" for requests, failed, _ in each]),
    ]


def _of_last(hours: int) -> tuple[int, int, str]:
    """The requests, those that failed, and the end of the bucket that 95 % of them are within."""
    rows: Any = Traffic.objects.filter(period__gt=timezone.now() - timedelta(hours=hours))
    buckets = rows.values("milliseconds").annotate(all=Sum("requests"), bad=Sum("failed"))
    found = list(buckets.order_by("milliseconds"))
    requests, within = sum(each["all"] for each in found), 0
    for each in found:
        within += each["all"]
        if within >= 0.95 * requests:
            text = f"{each['milliseconds']:,} ms" if each["milliseconds"] < LONGER else "over 10 s"
            return requests, sum(each["bad"] for each in found), text
    return 0, 0, "–"


def _write(batch: Batch) -> None:
    # Sorted, so that two processes lock the rows in the same order.
    ends = (*MILLISECONDS, LONGER)
    rows = [(instant(period), ends[n], *counts) for (period, n), counts in sorted(batch.items())]
    with connection.cursor() as cursor:
        cursor.execute(_ADD, columns(rows))


_ADD = """
    INSERT INTO "usage_traffic" (period, milliseconds, requests, failed)
    SELECT * FROM unnest(%s::timestamptz[], %s::integer[], %s::bigint[], %s::bigint[])
    ON CONFLICT (period, milliseconds) DO UPDATE SET
        requests = "usage_traffic".requests + EXCLUDED.requests,
        failed = "usage_traffic".failed + EXCLUDED.failed
"""

TRAFFIC = Buffer("traffic", 1_000, _write)
