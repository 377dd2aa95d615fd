"""Logs that another program writes, read line by line while it writes and rotates them."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

BLOCK = 64 * 1024  # bytes read at once; of a longer line only its ends are kept
# Seconds that a file is still read after another has taken its name: its writers change over
# one by one.
ROTATION = 10.0


class _File:
    """One file, of which whole lines are read once each."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._read = 0  # bytes
        self._rest = b""  # the beginning of a line that has no end yet
        self.until = float("inf")  # monotonic seconds

    def is_at(self, path: Path) -> bool:
        return os.path.samestat(os.fstat(self._file.fileno()), path.stat())

    def lines(self) -> Iterator[bytes]:
        while block := self._file.read(BLOCK):
            self._read += len(block)
            *lines, rest = (self._rest + block).split(b"\n")
            self._rest = rest[:BLOCK]
            yield from lines

    def rewind_if_emptied(self) -> None:
        """Begins anew when the file was emptied in place."""
        if os.fstat(self._file.fileno()).st_size < self._read:
            self._file.seek(0)
            self._read, self._rest = 0, b""

    def close(self) -> None:
        self._file.close()


class Log:
    """A log under a name, whichever file has that name.

    Args:
        follow: the file may not be there yet, grow, and give its name to another one.

    Raises:
        OSError: it cannot be read; not while following, when there is no such file.
    """

    def __init__(self, path: Path, *, follow: bool) -> None:
        self._path = path
        self._follow = follow
        self._files: list[_File] = []
        if not follow:
            self._files.append(_File(path))

    def lines(self) -> Iterator[bytes]:
        """The whole lines, without their ends, that were not read yet.

        A line that has no end yet is left for the next time.
        """
        if self._follow:
            self._look()
        for file in self._files:
            yield from file.lines()
        for file in [file for file in self._files if file.until < time.monotonic()]:
            file.close()
            self._files.remove(file)

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _look(self) -> None:
        """Opens the file that has the name now; those that had it are read a while longer."""
        try:
            if self._files and self._files[-1].is_at(self._path):
                self._files[-1].rewind_if_emptied()
                return
            opened = _File(self._path)
        except FileNotFoundError:  # not there yet, or just renamed
            return
        for file in self._files:
            file.until = min(file.until, time.monotonic() + ROTATION)
        self._files.append(opened)
