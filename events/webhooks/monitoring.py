"""What operators see of webhooks and of the feed of events: in system checks, and as metrics.

It is read in a few index lookups for each endpoint, however many deliveries wait.
"""

import os
import socket
from collections.abc import Iterator
from datetime import timedelta

from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Now
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from events.webhooks import services
from events.webhooks.models import Endpoint, Process
from events.webhooks.policy import FAILING_DAYS
from events.webhooks.queue import READY

SEEN_SECONDS = 15.0  # between two times that a process says that it is there
LATE_SECONDS = 60  # a delivery is usually attempted within a second
HELD_SECONDS = 60  # a transaction that writes events usually lasts less
_NEWEST = 10_000  # events that are looked at

# The oldest delivery of each endpoint that works and may receive. Those of one that fails wait for
# their turn, by design. An event is held back while a transaction runs that began before it ended.
_STATUS = f"""
    {READY}
    SELECT
        (SELECT extract(epoch FROM statement_timestamp() - min(first.next_attempt_at))::float8
        FROM ready CROSS JOIN LATERAL (
            SELECT next_attempt_at FROM webhooks_delivery AS delivery
            WHERE delivery.endpoint_id = ready.id AND delivery.state = 'PENDING'
            ORDER BY next_attempt_at, id LIMIT 1
        ) AS first
        WHERE NOT ready.failing AND first.next_attempt_at <= statement_timestamp()),
        (SELECT count(*) FROM webhooks_process
        WHERE seen_at > statement_timestamp() - interval '{4 * SEEN_SECONDS} s'),
        (SELECT count(*) FROM webhooks_endpoint WHERE deleted_at IS NULL),
        (SELECT extract(epoch FROM statement_timestamp() - min(occurred_at))::float8 FROM (
            SELECT transaction, occurred_at FROM events_event ORDER BY id DESC LIMIT {_NEWEST}
        ) AS newest
        WHERE transaction >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint),
        (SELECT extract(epoch FROM statement_timestamp() - min(created_at))::float8
        FROM workspaces_mail WHERE due_at IS NOT NULL)
"""  # noqa: S608 - made of constants
# What the columns of `_STATUS` are: the names of the metrics, without "documents_".
_METRICS = {
    "webhooks_overdue_seconds": "How long the oldest delivery that is due has waited",
    "webhooks_processes": "Processes that deliver",
    "webhooks_endpoints": "Endpoints",
    "events_held_seconds": "The age of the oldest event that the feed does not show yet",
    "mails_overdue_seconds": "How long the oldest e-mail that should have been sent has waited",
}


def read_status(connection: BaseDatabaseWrapper = default_connection) -> dict[str, float]:
    """The values of the metrics."""
    with connection.cursor() as cursor:
        cursor.execute(_STATUS)
        [row] = cursor.fetchall()
    return {name: value or 0 for name, value in zip(_METRICS, row, strict=True)}


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """The same for Prometheus; each process reads it from the database."""
    for name, value in read_status(connection).items():
        yield GaugeMetricFamily(f"documents_{name}", _METRICS[name], value)


def notify_of_failing() -> None:
    """Adds an e-mail to the admins about each endpoint that has failed for an hour."""
    since = timezone.now() - timedelta(hours=1)
    failing = Endpoint.objects.existing().filter(enabled=True, failing_since__lt=since)
    for each in failing.select_related("workspace"):
        text = f"{each.public_url} fails. After {FAILING_DAYS} days of that it is switched off."
        services.tell_admins(each, "A webhook fails", text, about=f"{each.pk} {each.failing_since}")


def say_seen() -> None:
    """Writes that this process is there and delivers."""
    name = f"{socket.gethostname()[:150]}:{os.getpid()}"
    Process.objects.update_or_create(name=name, defaults={"seen_at": Now()})
