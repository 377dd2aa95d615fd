"""Who holds what others wait for: locked tables, and transactions that do not end.

Of other roles' sessions, PostgreSQL shows a member of `pg_read_all_stats` the state and the query.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

IDLE_SECONDS = 60  # idle_in_transaction_session_timeout of deploy/roles.sql
BLOCKED_SECONDS = 2  # lock_timeout of the API: from then on requests are refused
LONG_SECONDS = 60 * 60  # of a transaction that works: longer than most backups

# As far as its first literal, which may be a secret.
_QUERY = r"left(regexp_replace(substring(query FROM '^[^''$]*'), '\s+', ' ', 'g'), 80)"
_SESSION = f"pid, coalesce(usename, ''), application_name, coalesce(state, 'unknown'), {_QUERY}"
# A session that waits for a row has a lock on its "tuple". Advisory locks are left out: a second
# sealer waits for one as long as the first one lives.
_BLOCKING = f"""
    WITH waiting AS (
        SELECT pid, extract(epoch FROM clock_timestamp() - waitstart) AS seconds,
            coalesce(relation, (
                SELECT relation FROM pg_locks AS held
                WHERE held.pid = waiting.pid AND held.locktype = 'tuple' LIMIT 1
            )) AS relation
        FROM pg_locks AS waiting
        WHERE NOT granted AND locktype IN ('relation', 'tuple', 'transactionid')
    ), blocking AS (
        SELECT relation, unnest(pg_blocking_pids(pid)) AS pid, pid AS waits, seconds FROM waiting
        UNION ALL
        SELECT relation, pid, NULL, NULL FROM pg_locks
        WHERE granted AND locktype = 'relation' AND mode = 'AccessExclusiveLock'
    )
    SELECT relname, {_SESSION}, count(DISTINCT waits), coalesce(
        greatest(extract(epoch FROM clock_timestamp() - xact_start), max(seconds)), 0)::float8
    FROM blocking JOIN pg_class ON pg_class.oid = relation JOIN pg_stat_activity USING (pid)
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND datname = current_database() AND pid <> pg_backend_pid()
    GROUP BY relname, pid, usename, application_name, state, query, xact_start
    ORDER BY relname, pid
"""  # noqa: S608 - made of constants
_LONG = f"""
    SELECT '', {_SESSION}, 0, extract(epoch FROM clock_timestamp() - xact_start)::float8
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND (
        state LIKE 'idle in transaction%%'
            AND state_change < clock_timestamp() - %s * interval '1 s'
        OR xact_start < clock_timestamp() - %s * interval '1 s')
    ORDER BY xact_start
"""  # noqa: S608 - this too


@dataclass(frozen=True)
class Session:
    """A session that others wait for, or whose transaction lasts long.

    Attributes:
        table: the one that it keeps others from; "" for a long transaction.
        state: "idle in transaction", "active" and so on; "unknown" if it may not be seen.
        query: the beginning of its last statement, without values.
        waiting: sessions that wait for it.
        seconds: since its transaction began, as far as that is known.
    """

    table: str
    pid: int
    role: str
    application: str
    state: str
    query: str
    waiting: int
    seconds: float

    def __str__(self) -> str:
        who = ", ".join(filter(None, (self.role, self.application)))
        waiting = f"; {self.waiting} wait for it" if self.waiting else ""
        query = f": {self.query.strip()}" if self.query else ""
        return f"pid {self.pid} ({who}) for {self.seconds:,.0f} s, {self.state}{waiting}{query}"

    @property
    def remedy(self) -> str:
        return (
            f"If it should not go on, end it as postgres: SELECT pg_terminate_backend({self.pid})"
        )


def _read(connection: BaseDatabaseWrapper, sql: str, *parameters: int) -> list[Session]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [Session(*row) for row in cursor.fetchall()]


def blocking(connection: BaseDatabaseWrapper = default_connection) -> list[Session]:
    """Those that keep others from a table for so long that requests are refused."""
    return [each for each in _read(connection, _BLOCKING) if each.seconds >= BLOCKED_SECONDS]


def long_transactions() -> list[Session]:
    """Those that are idle within a transaction, or work in one for very long."""
    return _read(default_connection, _LONG, IDLE_SECONDS, LONG_SECONDS)


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """How long tables have been locked; each process reads it (`config.runtime.metrics`)."""
    text = "How long the transaction has lasted that keeps others from a table"
    gauge = GaugeMetricFamily("documents_blocked_seconds", text, labels=["table"])
    longest = {each.table: each for each in sorted(blocking(connection), key=lambda e: e.seconds)}
    for each in longest.values():
        gauge.add_metric([each.table], each.seconds)
    yield gauge
