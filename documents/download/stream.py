"""The body of a download; its completion is recorded."""

import logging
from collections.abc import Iterator

from django.db import DatabaseError, InterfaceError

from audit import record
from audit.models import AuditEntry
from config import metrics
from config.logs import request_id
from documents.storage import OpenObject

logger = logging.getLogger(__name__)


class RecordedStream:
    """An object's bytes on their way to the client; its completion is a separate audit entry.

    If object storage breaks off, the iteration raises and the server closes the connection, so
    that a short body never looks complete.

    Args:
        opened: the object, not read yet.
        entry: the audit entry of the download.
    """

    def __init__(self, opened: OpenObject, entry: AuditEntry) -> None:
        self._opened = opened
        self._entry = entry
        self._chunks = iter(opened)
        self._last = 0  # bytes of the last chunk
        self._sent = 0  # bytes that the server has taken
        self._open = True

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
        if not self._open:
            return
        self._open = False
        self._opened.close()
        complete = self._sent == self._opened.length
        metrics.DOWNLOADS_ENDED.labels("complete" if complete else "broken_off").inc()
        metrics.DOWNLOAD_BYTES.inc(self._sent)
        token = request_id.set(self._entry.request_id)  # the request itself has ended
        try:
            record.download_ended(self._entry, bytes_sent=self._sent, complete=complete)
        except (DatabaseError, InterfaceError) as exc:
            # The download itself is recorded and its bytes have been sent; only log the failure.
            logger.error("The completion of a download could not be recorded: %s", exc)
        finally:
            request_id.reset(token)
