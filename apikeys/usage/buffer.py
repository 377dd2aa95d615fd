"""What this process has counted and not written yet, in memory of limited size.

Requests add to `BUFFER`; `apikeys.usage.flusher` takes all of it as one batch and writes it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from threading import Lock
from uuid import UUID

from apikeys.usage.models import TEXT_LENGTH, RefusedRequest
from config.api.active_key import ActiveKey

ROWS_A_MINUTE = 60  # refused requests with the same status that a key or a network has a row for
ROWS, USES = 500, 20_000  # of a batch: refused requests that have a row, and uses


@dataclass
class Use:
    """The requests of a key on a day (UTC) from an address; when and by which client the last."""

    workspace_id: UUID
    at: datetime
    client: str = ""  # as it was sent
    ok: int = 0
    errors: int = 0
    limited: int = 0
    downloads: int = 0


@dataclass
class Batch:
    """What is written together."""

    uses: dict[tuple[UUID, date, str], Use] = field(default_factory=dict)  # "": no address
    refused: list[RefusedRequest] = field(default_factory=list)
    more: Counter[str] = field(default_factory=Counter)  # by the request id of a row


class Buffer:
    """The batch that waits."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.batch = Batch()
        self.minute: datetime | None = None
        # The rows of this minute: key or network, and status → request ids.
        self.ids: dict[tuple[UUID | str, int], list[str]] = {}

    def take(self) -> Batch:
        with self.lock:
            batch, self.batch = self.batch, Batch()
        return batch

    def count(
        self, key: ActiveKey, status: int, now: datetime, address: str, client: str, download: bool
    ) -> None:
        with self.lock:
            uses, place = self.batch.uses, (key.id, now.date(), address)
            if len(uses) >= USES and place not in uses:
                place = (key.id, now.date(), "")
            use = uses.setdefault(place, Use(key.workspace_id, now))
            use.at, use.client = now, client[:TEXT_LENGTH]
            use.ok += status < 400
            use.limited += status == 429
            use.errors += status >= 400 and status != 429
            use.downloads += download

    def refuse(
        self, who: UUID | str, status: int, now: datetime, make: Callable[[], RefusedRequest]
    ) -> None:
        """Keeps a refused request, or counts it on the last row like it.

        Requests without a key, of a network, leave half of the room to those of a key's id.
        """
        minute = now.replace(second=0, microsecond=0)
        room = ROWS if isinstance(who, UUID) else ROWS // 2
        with self.lock:
            if self.minute != minute:
                self.minute, self.ids = minute, {}
            ids = self.ids.get((who, status), [])
            if len(ids) < ROWS_A_MINUTE and len(self.batch.refused) < room:
                row = make()
                self.batch.refused.append(row)
                self.ids[who, status] = [*ids, row.request_id]
            elif ids:  # without a row like it, only the log has the request
                self.batch.more[ids[-1]] += 1


BUFFER = Buffer()
