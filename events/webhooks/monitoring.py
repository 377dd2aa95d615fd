"""The state of events and webhooks: a system check and metrics.

It is read in a few index lookups for each endpoint, however many deliveries wait.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from django.core.checks import Error, Info
from django.db import connection
from django.utils import timezone
from django.utils.timesince import timesince
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from config.checks import DATABASE, Found, asks_service, look_at
from config.connections import processes
from config.request import metrics
from events.webhooks.models import Endpoint
from events.webhooks.queue import READY

LATE_SECONDS = 60  # a delivery is usually attempted within a second
PROCESS = "deliver_webhooks"  # what PostgreSQL calls the connection of a process that delivers

# The oldest delivery of each endpoint that works and may receive. Those of one that fails wait for
# their turn, by design. And the oldest transaction that writes, whatever its database: the events
# of later ones are not shown before it has ended.
_STATUS = f"""
    {READY}
    SELECT (
        SELECT coalesce(extract(epoch FROM statement_timestamp() - min(first.next_attempt_at)), 0)
        FROM ready CROSS JOIN LATERAL (
            SELECT next_attempt_at FROM webhooks_delivery AS delivery
            WHERE delivery.endpoint_id = ready.id AND delivery.state = 'PENDING'
            ORDER BY next_attempt_at, id LIMIT 1
        ) AS first
        WHERE NOT ready.failing AND first.next_attempt_at <= statement_timestamp()
    )::float8, (
        SELECT coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0) FROM (
            SELECT xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL
            UNION ALL SELECT prepared FROM pg_prepared_xacts
        ) AS writing (since)
    )::float8
"""  # noqa: S608 - made of constants


class Status(NamedTuple):
    """Seconds; 0 if nothing waits."""

    overdue: float  # for which the oldest delivery that is due has waited
    held: float  # for which the newest events have waited for a transaction that writes


def read_status() -> Status:
    with connection.cursor() as cursor:
        cursor.execute(_STATUS)
        [row] = cursor.fetchall()
    return Status(*row)


def read_metrics() -> Iterator[Metric]:
    status = read_status()
    text = "How long the oldest delivery that is due has waited"
    yield GaugeMetricFamily("documents_webhooks_overdue_seconds", text, status.overdue)
    text = "How long the newest events have waited for a transaction that writes"
    yield GaugeMetricFamily("documents_events_held_seconds", text, status.held)


metrics.readers.append(read_metrics)


@asks_service("sender of webhooks", "webhooks.001", hint=DATABASE)
def webhooks() -> Found:
    late = read_status().overdue
    endpoints, number = Endpoint.objects.existing().count(), processes(PROCESS)
    waiting = ""
    if late > LATE_SECONDS:
        longest = timesince(timezone.now() - timedelta(seconds=late), depth=1)
        waiting = f" The oldest delivery that is due has waited for {longest}."
    if endpoints and not number:
        yield Error(f"No process delivers them.{waiting}", hint=look_at("worker", missing=True))
    elif waiting:
        yield Error(f"They are delivered too late.{waiting}", hint=look_at("worker"))
    else:
        yield Info(f"Processes that deliver: {number}. Webhooks: {endpoints:,}.")
