"""Checked documents on their way to the database: in a temporary file, however many they are."""

import pickle
import tempfile
from collections.abc import Iterator, Sequence

from documents.importing.checking import Record


class Spool:
    """Batches of records, written once and then read once, in order.

    A second reading of the imported file instead could find another file than was checked.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self.count = 0  # records

    def write(self, batch: Sequence[Record]) -> None:
        pickle.dump(batch, self._file, pickle.HIGHEST_PROTOCOL)
        self.count += len(batch)

    def read(self) -> Iterator[Sequence[Record]]:
        self._file.seek(0)
        left = self.count
        while left:
            batch: Sequence[Record] = pickle.load(self._file)  # noqa: S301 - written above
            left -= len(batch)
            yield batch

    def close(self) -> None:
        self._file.close()
