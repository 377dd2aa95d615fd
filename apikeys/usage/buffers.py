"""What a process has counted and not written yet, in memory of limited size.

Requests add to a buffer, the flusher takes it as one batch and writes it
(`apikeys.usage.flusher`).
"""

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from threading import Lock
from typing import Any

from django.db import connection, transaction
from prometheus_client import Counter, Gauge

from apikeys.usage.models import ADDRESSES_KEPT
from config.api.active_key import ActiveKey
from config.runtime.database import UNAVAILABLE
from config.runtime.logs import redact_sent

logger = logging.getLogger(__name__)

ADDRESS_LENGTH = 45
USER_AGENT_LENGTH = 500  # characters that are stored
DAY = 24 * 60 * 60  # seconds
_EPOCH = date(1970, 1, 1)

Batch = dict[Any, Any]

WAITING = Gauge("documents_usage_waiting", "Rows of usage that wait to be written", ["kind"])
DROPPED = Counter("documents_usage_dropped", "Requests that found the buffer full", ["kind"])
FLUSH_FAILURES = Counter(
    "documents_usage_flush_failures", "Times that usage could not be written", ["kind"]
)
LOST = Counter(
    "documents_usage_lost", "Batches of usage that the database refused, for good", ["kind"]
)


class Buffer:
    """Rows that wait to be written.

    Args:
        kind: its name, for metrics and the log.
        limit: rows; a request that would add another one is dropped.
        write: writes a batch, within a transaction.

    Attributes:
        rows: by what each is about.
        dropped, failures, lost: what metrics count.
    """

    def __init__(self, kind: str, limit: int, write: Callable[[Batch], None]) -> None:
        self.kind = kind
        self.limit = limit
        self.write = write
        self.lock = Lock()
        self.rows: Batch = {}
        self._failed: Batch = {}  # could not be written, and is tried again
        WAITING.labels(kind).set_function(self.__len__)
        self.dropped = DROPPED.labels(kind)
        self.failures = FLUSH_FAILURES.labels(kind)
        self.lost = LOST.labels(kind)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, id: Any, first: list[Any]) -> list[Any] | None:
        """The row with this id, which is `first` if it is new; None if there is no room for it.

        The caller holds the lock.
        """
        found: list[Any] | None = self.rows.get(id)
        if found is None:
            if len(self.rows) >= self.limit:
                self.dropped.inc()
                return None
            found = self.rows[id] = first
        return found

    def take(self) -> Batch:
        """Empties the buffer, and returns what was in it."""
        with self.lock:
            rows, self.rows = self.rows, {}
        return rows

    def flush(self) -> bool:
        """Writes the batch that could not be written, then a new one; whether both are written."""
        for _ in range(2):
            batch = self._failed or self.take()
            try:
                if batch:
                    with transaction.atomic():
                        self.write(batch)
            except UNAVAILABLE as exc:  # or a lock on this table
                self.failures.inc()
                if not self._failed:
                    logger.warning("The usage of keys (%s) is written later: %s", self.kind, exc)
                self._failed = batch
                return False
            except Exception:  # it would fail each time
                self.lost.inc()
                logger.exception("The usage of keys (%s) is lost", self.kind)
            self._failed = {}
        return True


def count(
    key: ActiveKey,
    status: int,
    now: float,
    *,
    download: bool = False,
    address: str = "",
    user_agent: str | None = None,
) -> None:
    """Counts a request under its key and day, and under its key and address.

    Args:
        now: seconds since the epoch.
        download: whether it started one.
        address: "" if the server does not know it; then it is not counted under one.
    """
    address = address[:ADDRESS_LENGTH]  # a scope id of IPv6 has no limit
    with COUNTS.lock:
        # → workspace, ok, errors, limited, downloads; the last request's time, address, client
        row = COUNTS.row((key.id, int(now // DAY)), [key.workspace_id, 0, 0, 0, 0, now, "", None])
        if row is not None:
            row[1 if status < 400 else 3 if status == 429 else 2] += 1
            row[4] += download
            row[5:] = now, address, user_agent
    if address:
        with ADDRESSES.lock:
            # → user agent, first seen, last seen, requests
            row = ADDRESSES.row((key.id, address), [None, now, now, 0])
            if row is not None:
                row[0] = user_agent
                row[2] = now
                row[3] += 1


def instant(seconds: float) -> datetime:
    """The time, from seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def clean(text: str | None, length: int) -> str:
    """What a client has sent, without secrets, and no longer than its column.

    It is cut first: then no more than that is searched for secrets, and of a key that is cut only
    its public part is left.
    """
    return redact_sent((text or "")[:length].replace("\0", ""))[:length]


def _write_counts(batch: Batch) -> None:
    rows = sorted(batch.items())  # so that two processes lock the rows in the same order
    counts = [(key_id, _EPOCH + timedelta(days=day), *row[:5]) for (key_id, day), row in rows]
    uses = {
        key_id: (key_id, instant(at), address, clean(user_agent, USER_AGENT_LENGTH))
        for (key_id, _), (*_, at, address, user_agent) in rows
    }
    with connection.cursor() as cursor:
        cursor.execute(_ADD_COUNTS, columns(counts))
        cursor.execute(_SET_LAST_USE, columns(uses.values()))


def _write_addresses(batch: Batch) -> None:
    rows = [
        (key_id, address, clean(user_agent, USER_AGENT_LENGTH), *map(instant, times), requests)
        for (key_id, address), (user_agent, *times, requests) in sorted(batch.items())
    ]
    with connection.cursor() as cursor:
        cursor.execute(_ADD_ADDRESSES, columns(rows))
        cursor.execute(_FORGET_OLDEST, [list({row[0] for row in rows}), ADDRESSES_KEPT])


def columns(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """The rows for `unnest`."""
    return [list(column) for column in zip(*rows, strict=True)]


_ADD_COUNTS = """
    INSERT INTO "usage_keyusage" (key_id, day, workspace_id, ok, errors, limited, downloads)
    SELECT * FROM unnest(%s::uuid[], %s::date[], %s::uuid[],
        %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
    ON CONFLICT (key_id, day) DO UPDATE SET
        ok = "usage_keyusage".ok + EXCLUDED.ok,
        errors = "usage_keyusage".errors + EXCLUDED.errors,
        limited = "usage_keyusage".limited + EXCLUDED.limited,
        downloads = "usage_keyusage".downloads + EXCLUDED.downloads
"""
_SET_LAST_USE = """
    UPDATE "apikeys_apikey" AS key
    SET last_used_at = used.at, last_used_address = used.address, last_used_client = used.client
    FROM unnest(%s::uuid[], %s::timestamptz[], %s::text[], %s::text[])
        AS used (id, at, address, client)
    WHERE key.id = used.id AND (key.last_used_at IS NULL OR key.last_used_at < used.at)
"""
_ADD_ADDRESSES = """
    INSERT INTO "usage_keyaddress" (key_id, address, user_agent, first_seen, last_seen, requests)
    SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[],
        %s::timestamptz[], %s::timestamptz[], %s::bigint[])
    ON CONFLICT (key_id, address) DO UPDATE SET
        user_agent = EXCLUDED.user_agent,
        first_seen = least("usage_keyaddress".first_seen, EXCLUDED.first_seen),
        last_seen = greatest("usage_keyaddress".last_seen, EXCLUDED.last_seen),
        requests = "usage_keyaddress".requests + EXCLUDED.requests
"""
_FORGET_OLDEST = """
    DELETE FROM "usage_keyaddress" AS old USING (
        SELECT key_id, address, row_number() OVER (
            PARTITION BY key_id ORDER BY last_seen DESC, address) AS number
        FROM "usage_keyaddress" WHERE key_id = ANY(%s)
    ) AS ranked
    WHERE ranked.number > %s AND (old.key_id, old.address) = (ranked.key_id, ranked.address)
"""

COUNTS = Buffer("usage", 20_000, _write_counts)
ADDRESSES = Buffer("addresses", 5_000, _write_addresses)
