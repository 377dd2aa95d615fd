"""The body of a download that this process sends; its completion is recorded."""

import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from botocore.response import StreamingBody
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from audit import download_ends
from audit.models import AuditEntry
from config.api.errors import TooManyDownloads
from config.runtime import metrics
from config.runtime.logs import request_id
from config.runtime.request_context import deadline
from config.runtime.slots import FairSemaphore
from documents.storage import CHUNK_SIZE

logger = logging.getLogger(__name__)

RECORDING_SECONDS = 2.0  # that recording a completion may take

# Each takes a thread until its last byte.
STREAMS = FairSemaphore(settings.STREAMS, 0, settings.STREAMS // 2, error=TooManyDownloads)
_open: "set[RecordedStream]" = set()


class RecordedStream:
    """An object's bytes on their way to the client; its completion is a separate audit entry.

    If object storage breaks off, the iteration raises and the server closes the connection, so that
    a short body never looks complete.

    Args:
        body: the object or a part of it, not read yet.
        length: its bytes.
        entry: the audit entry of the download, which counts in `STREAMS`.
    """

    def __init__(self, body: StreamingBody, length: int, entry: AuditEntry) -> None:
        self._body = body
        self._length = length
        self._entry = entry
        self._chunks = body.iter_chunks(CHUNK_SIZE)
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
        if not self._ending.acquire(blocking=False):
            return
        token = request_id.set(self._entry.request_id)  # the request itself has ended
        try:
            self._body.close()
            self._record()
        finally:
            request_id.reset(token)
            STREAMS.release(self._entry.key_id)
            _open.discard(self)

    def _record(self) -> None:
        """Writes the audit entry. If the database fails, the log says how the download ended."""
        complete = self._sent == self._length
        metrics.DOWNLOADS_ENDED.labels("complete" if complete else "broken_off").inc()
        metrics.DOWNLOAD_BYTES.inc(self._sent)
        completion = download_ends.Completion(
            at=datetime.now(UTC), bytes_sent=self._sent, length=self._length
        )
        token = deadline.set(time.monotonic() + RECORDING_SECONDS)
        try:
            download_ends.record_ends({self._entry.request_id: completion})
        except DatabaseError as exc:
            # The download itself is recorded and its bytes have been sent.
            logger.error("%s is not in the audit log: %r", completion, exc)
        finally:
            deadline.reset(token)
            if not connection.in_atomic_block:  # as in a test
                connection.close()  # this thread's own: the request has left its slot's


def break_off_all(patience: float) -> None:
    """The process ends; what is still in progress is recorded as broken off.

    Args:
        patience: seconds to wait for downloads that are just being recorded.
    """
    until = time.monotonic() + patience
    while _open and time.monotonic() < until:
        time.sleep(0.02)
    for stream in list(_open):
        stream.close()
