"""What this process has counted and not written yet, in memory of limited size.

Requests add to `BUFFER`; `apikeys.usage.flusher` takes all of it as one batch and writes it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from threading import Lock
from uuid import UUID

from apikeys.usage.models import RefusedRequest
from config.api.active_key import ActiveKey

USES, REFUSED = 20_000, 500  # rows of a batch
ROWS_A_MINUTE = 60  # refused requests that a key or a network has a row for


@dataclass
class Use:
    """The requests of a key on a day (UTC) from an address; when and by which client the last."""

    workspace_id: UUID
    at: datetime
    client: str = ""
    ok: int = 0
    errors: int = 0
    limited: int = 0
    downloads: int = 0


@dataclass
class Batch:
    """What is written together.

    Attributes:
        uses: by key, day and address; "" is an unknown one.
        refused: rows whose reason is still the log's.
        worded: the same, but ready to be written.
        more: requests that are only counted, by the request id of the row that counts them.
        dropped: requests that are not counted, since there was no room.
    """

    uses: dict[tuple[UUID, date, str], Use] = field(default_factory=dict)
    refused: list[RefusedRequest] = field(default_factory=list)
    worded: list[RefusedRequest] = field(default_factory=list)
    more: Counter[str] = field(default_factory=Counter)
    dropped: int = 0


class Buffer:
    """The batch that waits."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.clear()

    def clear(self) -> None:
        self.batch = Batch()
        self.minute: datetime | None = None
        self.rows: Counter[UUID | str] = Counter()  # of a key or network in this minute
        self.last: dict[tuple[UUID | str, int], str] = {}  # and status → the last one's request id

    def take(self) -> Batch:
        """Empties the buffer, and returns what was in it."""
        with self.lock:
            batch, self.batch = self.batch, Batch()
        return batch

    def count(
        self,
        key: ActiveKey,
        status: int,
        now: datetime,
        *,
        address: str = "",
        client: str = "",
        download: bool = False,
    ) -> None:
        """Counts a request of a valid key."""
        place = key.id, now.date(), address
        with self.lock:
            uses = self.batch.uses
            if place not in uses and len(uses) >= USES:
                self.batch.dropped += 1
                return
            use = uses.setdefault(place, Use(key.workspace_id, now))
            use.at, use.client = now, client
            use.ok += status < 400
            use.limited += status == 429
            use.errors += status >= 400 and status != 429
            use.downloads += download

    def refuse(
        self, who: UUID | str, status: int, now: datetime, make: Callable[[], RefusedRequest]
    ) -> None:
        """Keeps a refused request, or counts it on the last row like it.

        The first one with a status has a row in any case, so that each row says of which status
        its `more` are. Requests without a key leave half of the room to those with one.

        Args:
            who: the id of a valid key, or else the client's network.
        """
        minute = now.replace(second=0, microsecond=0)
        with self.lock:
            if self.minute != minute:
                self.minute, self.rows, self.last = minute, Counter(), {}
            batch, last = self.batch, self.last.get((who, status))
            is_full = len(batch.refused) >= (REFUSED if isinstance(who, UUID) else REFUSED // 2)
            if last and (is_full or self.rows[who] >= ROWS_A_MINUTE):
                batch.more[last] += 1
            elif is_full:
                batch.dropped += 1
            else:
                row = make()
                batch.refused.append(row)
                self.rows[who] += 1
                self.last[who, status] = row.request_id


BUFFER = Buffer()
