"""What a process has counted and not written yet, in memory of limited size.

Requests add to a buffer, the flusher takes it as one batch and writes it
(`apikeys.usage.flusher`). A batch that could not be written is written again later, as it is.
"""

from abc import ABC, abstractmethod
from datetime import UTC, date, datetime, timedelta
from threading import Lock
from typing import Any
from uuid import UUID

from django.db import connection

from apikeys.usage.models import ADDRESSES_KEPT
from config.api.request import ActiveKey
from config.logs import redact

ADDRESS_LENGTH = 45
USER_AGENT_LENGTH = 500  # characters that are stored
DAY = 24 * 60 * 60  # seconds
_EPOCH = date(1970, 1, 1)


class Buffer(ABC):
    """What waits to be written.

    Attributes:
        kind: its name, for metrics and the log.
        dropped: requests that found it full since the process started.
    """

    kind: str

    def __init__(self) -> None:
        self.lock = Lock()
        self.dropped = 0

    @abstractmethod
    def __len__(self) -> int:
        """How many rows wait."""

    @abstractmethod
    def take(self) -> Any:
        """Empties the buffer and returns what was in it, as a batch; a false one if nothing was."""

    def prepare(self, batch: Any) -> None:  # noqa: B027 - most need nothing
        """Asks the database for what `write` needs, before its transaction begins."""

    @abstractmethod
    def write(self, batch: Any) -> None:
        """Writes a batch, within a transaction."""


class Rows(Buffer):
    """A row for each pair of a key and something else.

    Attributes:
        limit: pairs; a request that would add another one is dropped.
    """

    limit: int

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[tuple[UUID, Any], list[Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def take(self) -> Any:
        with self.lock:
            rows, self._rows = self._rows, {}
        return rows

    def row(self, pair: tuple[UUID, Any], first: list[Any]) -> list[Any] | None:
        """The row of a pair, which is `first` if it is new; None if there is no room for it.

        The caller holds the lock.
        """
        found = self._rows.get(pair)
        if found is None:
            if len(self._rows) >= self.limit:
                self.dropped += 1
                return None
            found = self._rows[pair] = first
        return found


class Counts(Rows):
    """The requests of each key and day."""

    kind = "usage"
    limit = 20_000  # pairs of key and day

    def add(self, key: ActiveKey, status: int, now: float, *, download: bool) -> None:
        """Counts a request.

        Args:
            now: seconds since the epoch.
            download: whether it started one.
        """
        pair = (key.id, int(now // DAY))
        with self.lock:
            # → workspace, ok, errors, limited, downloads
            row = self.row(pair, [key.workspace_id, 0, 0, 0, 0])
            if row is None:
                return
            row[1 if status < 400 else 3 if status == 429 else 2] += 1
            if download:
                row[4] += 1

    def write(self, batch: Any) -> None:
        # Sorted, so that two processes lock the rows in the same order.
        rows = [
            (key_id, _EPOCH + timedelta(days=day), *counts)
            for (key_id, day), counts in sorted(batch.items())
        ]
        with connection.cursor() as cursor:
            cursor.execute(_ADD_COUNTS, _columns(rows))


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


class Addresses(Rows):
    """The addresses that each key is used from."""

    kind = "addresses"
    limit = 5_000  # pairs of key and address

    def add(self, key_id: UUID, address: str, user_agent: str | None, now: float) -> None:
        """Counts a request; an unknown address is not counted.

        Args:
            now: seconds since the epoch.
        """
        if not address:
            return
        pair = (key_id, address[:ADDRESS_LENGTH])  # a scope id of IPv6 has no limit
        with self.lock:
            # → user agent, first seen, last seen, requests
            row = self.row(pair, [None, now, now, 0])
            if row is None:
                return
            row[0] = user_agent
            row[2] = now
            row[3] += 1

    def write(self, batch: Any) -> None:
        rows = [
            (key_id, address, clean(user_agent, USER_AGENT_LENGTH), *map(instant, times), requests)
            for (key_id, address), (user_agent, *times, requests) in sorted(batch.items())
        ]
        with connection.cursor() as cursor:
            cursor.execute(_ADD_ADDRESSES, _columns(rows))
            cursor.execute(_FORGET_OLDEST, [list({row[0] for row in rows}), ADDRESSES_KEPT])


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


def instant(seconds: float) -> datetime:
    """The time, from seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def clean(text: str | None, length: int) -> str:
    """What a client has sent, without secrets, and no longer than its column."""
    # No more than that is searched for secrets; cutting first leaves at most a key's public part.
    return redact((text or "")[:length].replace("\0", ""))[:length]


def _columns(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
