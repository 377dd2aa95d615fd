"""Folds refused requests: equal ones of a key or a network, in one minute, are one row."""

from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime

from apikeys.usage.models import RefusedRequest

ROWS_A_MINUTE = 20  # of a key or a network


class Folded:
    """Rows by their key or network and their minute, and then by what else is equal."""

    def __init__(self, rows: Iterable[RefusedRequest] = ()) -> None:
        self._rows: dict[tuple[str, datetime], dict[Hashable, RefusedRequest]] = {}
        for row in rows:
            self.add(row)

    def __iter__(self) -> Iterator[RefusedRequest]:
        for rows in self._rows.values():
            yield from rows.values()

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def add(self, row: RefusedRequest, room: int | None = None) -> RefusedRequest | None:
        """Adds a request to the row that is like it, or else as a row.

        Without room for a row, the last one of the same key or network counts it.

        Args:
            room: how many rows there may be in all.

        Returns:
            The row that has changed; None if there is no room, nor a row that could count it.
        """
        rows = self._rows.get((row.subject, row.minute), {})
        # The digest tells apart what is not yet known to be a key, or not to be one.
        what = (row.status, row.words, row.path, row.key_prefix, row.sent_digest)
        if what in rows:
            rows[what].add(row)
            return rows[what]
        if len(rows) < ROWS_A_MINUTE and (room is None or len(self) < room):
            self._rows.setdefault((row.subject, row.minute), {})[what] = row
            return row
        if rows:
            last = next(reversed(rows.values()))
            last.others += row.requests + row.others
            return last
        return None
