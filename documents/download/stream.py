"""The body of a download that this process sends; its completion is recorded."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime

from botocore.response import StreamingBody
from django.db import Error as DatabaseError

from audit import download_ends
from audit.models import AuditEntry
from config.runtime import metrics
from config.runtime.logs import request_id
from documents.storage import CHUNK_SIZE

logger = logging.getLogger(__name__)


class RecordedStream:
    """An object's bytes on their way to the client; its completion is a separate audit entry.

    If object storage breaks off, the iteration raises and the server closes the connection, so that
    a short body never looks complete.

    Args:
        body: the object or a part of it, not read yet.
        length: its bytes.
        entry: the audit entry of the download.
    """

    def __init__(self, body: StreamingBody, length: int, entry: AuditEntry) -> None:
        self._body = body
        self._length = length
        self._entry = entry
        self._chunks = body.iter_chunks(CHUNK_SIZE)
        self._last = 0  # bytes of the last chunk
        self._sent = 0  # bytes that the server has taken
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        # The server asks for the next chunk after it has sent the last one. Keep no reference to a
        # chunk; otherwise each slow client would hold two in memory.
        self._sent += self._last
        self._last = 0
        chunk = next(self._chunks)
        self._last = len(chunk)
        return chunk

    def close(self) -> None:
        """Records the completion; the server calls it after the last byte or if the client left."""
        if self._ended:
            return
        self._ended = True
        token = request_id.set(self._entry.request_id)  # the request itself has ended
        try:
            self._body.close()
            self._record()
        finally:
            request_id.reset(token)

    def _record(self) -> None:
        """Writes the audit entry. If the database fails, the log says how the download ended."""
        complete = self._sent == self._length
        metrics.DOWNLOADS_ENDED.labels("complete" if complete else "broken_off").inc()
        metrics.DOWNLOAD_BYTES.inc(self._sent)
        completion = download_ends.Completion(
            at=datetime.now(UTC), bytes_sent=self._sent, length=self._length
        )
        try:
            download_ends.record_ends({self._entry.request_id: completion})
        except DatabaseError as exc:
            # The download itself is recorded and its bytes have been sent.
            logger.error("%s is not in the audit log: %r", completion, exc)
