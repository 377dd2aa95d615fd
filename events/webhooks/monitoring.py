"""The state of events and webhooks: a system check and metrics.

It is read in a few index lookups for each endpoint, however many deliveries wait.
"""

from collections.abc import Iterator
from datetime import timedelta

from django.core.checks import Error, Info
from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from django.utils.timesince import timesince
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from config.checks import DATABASE, Found, asks_service, look_at
from events.webhooks.queue import READY

LATE_SECONDS = 60  # a delivery is usually attempted within a second
MOST_COUNTED = 1000  # deliveries that are due
PROCESS = "deliver_webhooks"  # what PostgreSQL calls the connection of a process that delivers

_PROCESSES = f"""
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = '{PROCESS}' AND pid <> pg_backend_pid()
"""  # noqa: S608 - made of constants
# The oldest delivery of each endpoint that works and may receive. Those of one that fails wait for
# their turn, by design. And the oldest transaction that writes, whatever its database: the events
# of later ones are not shown before it has ended.
_STATUS = f"""
    {READY}
    SELECT
        (SELECT extract(epoch FROM statement_timestamp() - min(first.next_attempt_at))::float8
        FROM ready CROSS JOIN LATERAL (
            SELECT next_attempt_at FROM webhooks_delivery AS delivery
            WHERE delivery.endpoint_id = ready.id AND delivery.state = 'PENDING'
            ORDER BY next_attempt_at, id LIMIT 1
        ) AS first
        WHERE NOT ready.failing AND first.next_attempt_at <= statement_timestamp()
        ) AS webhooks_overdue_seconds,
        (SELECT count(*) FROM (
            SELECT FROM ready CROSS JOIN LATERAL (
                SELECT FROM webhooks_delivery AS delivery
                WHERE delivery.endpoint_id = ready.id AND delivery.state = 'PENDING'
                    AND next_attempt_at <= statement_timestamp()
                ORDER BY next_attempt_at, id LIMIT {MOST_COUNTED}
            ) AS of_endpoint WHERE NOT ready.failing LIMIT {MOST_COUNTED}
        ) AS due) AS webhooks_due,
        ({_PROCESSES}) AS webhooks_processes,
        (SELECT count(*) FROM webhooks_endpoint WHERE deleted_at IS NULL) AS webhooks_endpoints,
        (SELECT extract(epoch FROM clock_timestamp() - min(since))::float8 FROM (
            SELECT xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL
            UNION ALL SELECT prepared FROM pg_prepared_xacts
        ) AS writing (since)) AS events_held_seconds
"""  # noqa: S608 - made of constants
# By the columns of `_STATUS`; the metrics have the same names after "documents_".
_METRICS = {
    "webhooks_overdue_seconds": "How long the oldest delivery that is due has waited",
    "webhooks_due": f"Deliveries that are due; {MOST_COUNTED} if there are more",
    "webhooks_processes": "Processes that deliver",
    "webhooks_endpoints": "Endpoints",
    "events_held_seconds": "How long the newest events have waited for a transaction that writes",
}


def delivers() -> bool:
    """Whether any process delivers at present."""
    with default_connection.cursor() as cursor:
        cursor.execute(_PROCESSES)
        return bool(cursor.fetchone() != (0,))


def read_status(connection: BaseDatabaseWrapper = default_connection) -> dict[str, float]:
    with connection.cursor() as cursor:
        cursor.execute(_STATUS)
        names = [column.name for column in cursor.description]
        [row] = cursor.fetchall()
    return {name: value or 0 for name, value in zip(names, row, strict=True)}


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    for name, value in read_status(connection).items():
        yield GaugeMetricFamily(f"documents_{name}", _METRICS[name], value)


@asks_service("webhooks.001", hint=DATABASE)
def webhooks() -> Found:
    status = read_status()
    late, due = status["webhooks_overdue_seconds"], status["webhooks_due"]
    processes, endpoints = status["webhooks_processes"], status["webhooks_endpoints"]
    waiting = ""
    if late > LATE_SECONDS:
        longest = timesince(timezone.now() - timedelta(seconds=late), depth=1)
        waiting = f" Deliveries that are due: {due:,.0f}, the oldest for {longest}."
    if endpoints and not processes:
        yield Error(f"Nothing delivers webhooks.{waiting}", hint=look_at("worker"))
    elif waiting:
        yield Error(f"Webhooks are delivered too late.{waiting}", hint=look_at("worker"))
    else:
        yield Info(f"Processes that deliver: {processes:.0f}. Webhooks: {endpoints:.0f}.")
