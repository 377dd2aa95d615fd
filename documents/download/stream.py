"""The body of a download that this process sends; its completion is recorded."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.dispatch import receiver

from audit import completions
from audit.models import AuditEntry
from config import metrics
from config.api.errors import TooManyDownloads
from config.logs import request_id
from config.signals import breaking_off
from documents.download import spool
from documents.storage_reading import OpenObject

logger = logging.getLogger(__name__)

LAST_SECONDS = 1.0  # that a process which ends still gives the database to record a completion


class StreamLimit:
    """How many downloads this process sends at once; one key may have half of them.

    Each takes a thread until its last byte, however slow the client is.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._of_keys: Counter[UUID] = Counter()

    def take(self, key_id: UUID) -> None:
        """Counts a download that begins.

        Raises:
            TooManyDownloads: 503.
        """
        with self._lock:
            if self._of_keys.total() >= self._limit:
                raise TooManyDownloads("this process sends as many downloads as it may")
            if self._of_keys[key_id] >= self._limit // 2:
                raise TooManyDownloads("the key has as many downloads in progress as it may")
            self._of_keys[key_id] += 1

    def give_back(self, key_id: UUID) -> None:
        """Counts a download that has ended."""
        with self._lock:
            self._of_keys[key_id] -= 1
            if not self._of_keys[key_id]:
                del self._of_keys[key_id]

    @property
    def in_use(self) -> int:
        """Downloads in progress."""
        return self._of_keys.total()


STREAMS = StreamLimit(settings.STREAMS)
_open: "set[RecordedStream]" = set()


class RecordedStream:
    """An object's bytes on their way to the client; its completion is a separate audit entry.

    If object storage breaks off, the iteration raises and the server closes the connection, so that
    a short body never looks complete.

    Args:
        opened: the object or a part of it, not read yet.
        entry: the audit entry of the download, which counts in `STREAMS`.
    """

    def __init__(self, opened: OpenObject, entry: AuditEntry) -> None:
        self._opened = opened
        self._entry = entry
        self._chunks = iter(opened)
        self._last = 0  # bytes of the last chunk
        self._sent = 0  # bytes that the server has taken
        self._ending = threading.Lock()  # taken once, for good
        _open.add(self)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        # The server asks for the next chunk after it has sent the last one. Keep no reference to a
        # chunk; otherwise each slow client would hold two in memory.
        self._sent += self._last
        self._last = 0
        if self._ending.locked():
            raise ConnectionAbortedError("the process ends")
        chunk = next(self._chunks)
        self._last = len(chunk)
        return chunk

    def close(self) -> None:
        """Records the completion; the server calls it after the last byte or if the client left."""
        if self._ending.acquire(blocking=False):
            token = request_id.set(self._entry.request_id)  # the request itself has ended
            try:
                self._opened.close()
                self._record(self._completion())
            finally:
                request_id.reset(token)
                assert self._entry.key_id is not None  # noqa: S101 - of a download
                STREAMS.give_back(self._entry.key_id)
                _open.discard(self)

    def break_off(self) -> None:
        """Stores the completion and stops another thread that is still sending; the process ends.

        If the other thread is just recording it, it is recorded once all the same.
        """
        self._ending.acquire(blocking=False)
        completion = self._completion()
        if not spool.add(self._entry.request_id, completion):
            self._record(completion)

    def _completion(self) -> completions.Completion:
        return completions.Completion(
            at=datetime.now(UTC),
            bytes_sent=self._sent,
            length=self._opened.length,
        )

    def _record(self, completion: completions.Completion) -> None:
        """Writes the audit entry; if the database fails, it is written later."""
        complete = completion.bytes_sent == completion.length
        metrics.DOWNLOADS_ENDED.labels("complete" if complete else "broken_off").inc()
        metrics.DOWNLOAD_BYTES.inc(completion.bytes_sent)
        try:
            with spool.recording():
                completions.download_ended(self._entry, completion)
        except spool.NOT_RECORDED as exc:
            # The download itself is recorded and its bytes have been sent.
            logger.warning("The completion of a download is recorded later: %r", exc)
            spool.add(self._entry.request_id, completion)


@receiver(breaking_off)
def break_off_all(patience: float, **_: Any) -> None:
    """Signal receiver: the process ends; no completion of what is still in progress is lost.

    They are stored first, since the database may be out of reach, and recorded then.

    Args:
        patience: seconds to wait for downloads that are just being recorded.
    """
    until = time.monotonic() + patience
    while _open and time.monotonic() < until:
        time.sleep(0.02)
    if broken_off := list(_open):
        for stream in broken_off:
            stream.break_off()
        spool.record_waiting(LAST_SECONDS)
