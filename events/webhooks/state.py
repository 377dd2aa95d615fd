"""The state of webhooks and of the feed of events, for those who operate the service.

It is read in a few index lookups for each endpoint, however many deliveries wait.
"""

from dataclasses import dataclass

from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper

from events.webhooks.queue import READY
from events.webhooks.upkeep import SEEN_SECONDS

MOST_COUNTED = 100_000  # pending deliveries; more are not counted
LATE_SECONDS = 60  # a delivery is usually attempted within a second
HELD_SECONDS = 60  # a transaction that writes events usually lasts less
_NEWEST = 10_000  # events that are looked at

# The oldest delivery of each endpoint that works and may receive. Those of one that fails wait for
# their turn, by design. An event is held back while a transaction runs that began before it ended.
_STATE = f"""
    {READY}
    SELECT
        (SELECT count(*) FROM (
            SELECT FROM webhooks_delivery WHERE state = 'PENDING' LIMIT {MOST_COUNTED}
        ) AS counted),
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
        (SELECT count(*) FROM webhooks_endpoint
        WHERE deleted_at IS NULL AND NOT enabled AND disabled_reason <> ''),
        (SELECT extract(epoch FROM statement_timestamp() - min(occurred_at))::float8 FROM (
            SELECT transaction, occurred_at FROM events_event ORDER BY id DESC LIMIT {_NEWEST}
        ) AS newest
        WHERE transaction >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
"""  # noqa: S608 - made of constants


@dataclass(frozen=True)
class State:
    """The state.

    Attributes:
        pending: deliveries that wait for an attempt; those of endpoints that are off too.
        overdue_seconds: how long the oldest one waits that should have been attempted.
        processes: that deliver.
        endpoints: that are not deleted.
        switched_off: of these, the ones that the service has switched off.
        held_seconds: the age of the oldest event that the feed does not show yet.
    """

    pending: int
    overdue_seconds: float
    processes: int
    endpoints: int
    switched_off: int
    held_seconds: float

    @property
    def late(self) -> bool:
        return self.overdue_seconds > LATE_SECONDS

    @property
    def held(self) -> bool:
        return self.held_seconds > HELD_SECONDS


def read(connection: BaseDatabaseWrapper = default_connection) -> State:
    """Reads the state.

    Raises:
        django.db.Error: the database is out of reach.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STATE)
        [row] = cursor.fetchall()
    return State(*(value or 0 for value in row))
