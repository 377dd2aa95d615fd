"""The body of a download, and how it ended."""

import logging
from collections.abc import Iterator

from django.db import DatabaseError, InterfaceError

from audit import record
from audit.models import AuditEntry
from config.logs import request_id
from documents.storage import OpenObject

logger = logging.getLogger(__name__)


class RecordedStream:
    """An object's bytes on their way to the client; its end is an audit entry of its own.

    A store that breaks off raises out of the iteration, and the server then breaks off the
    connection: a short body never looks whole.

    Args:
        opened: the object, not read yet.
        entry: the entry that says the download started.
    """

    def __init__(self, opened: OpenObject, entry: AuditEntry) -> None:
        self._opened = opened
        self._entry = entry
        self._chunks = iter(opened)
        self._given = 0  # bytes of the last chunk
        self._sent = 0  # bytes that the server has taken
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        # Asking for the next chunk, the server has taken the last one. No reference is kept to
        # either: a slow client would hold two of them in memory.
        self._sent += self._given
        self._given = 0
        chunk = next(self._chunks)
        self._given = len(chunk)
        return chunk

    def close(self) -> None:
        """Ends the download: the server calls it after the last byte and when the client left."""
        if not self._open:
            return
        self._open = False
        self._opened.close()
        token = request_id.set(self._entry.request_id)  # the request itself is over by now
        try:
            record.download_ended(
                self._entry,
                bytes_sent=self._sent,
                complete=self._sent == self._opened.length,
            )
        except (DatabaseError, InterfaceError) as exc:
            # The download itself is recorded, and its bytes are gone out: nothing to take back.
            logger.error("The end of a download could not be recorded: %s", exc)
        finally:
            request_id.reset(token)
