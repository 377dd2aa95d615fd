"""Counts the pages of PDFs in a process of its own, which gives each file only so much.

A small file can keep pypdf busy for hours, or need gigabytes.
"""

import logging
import multiprocessing
import resource
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

from pypdf import PdfReader

SECONDS = 10
MEGABYTES = 100  # of memory, with what the process needs itself


class PageCounter:
    """The process. One that a file has brought to its end is replaced."""

    def __enter__(self) -> Self:
        spawning = multiprocessing.get_context("spawn")
        self._pipe, pipe = spawning.Pipe()
        self._process = spawning.Process(target=_serve, args=(pipe,), daemon=True)
        self._process.start()
        pipe.close()
        self._is_new = True
        return self

    def __exit__(self, *exception: object) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.join()

    def count(self, path: Path) -> int:
        """The number of a PDF's pages.

        Raises:
            ValueError: it is something else, damaged, locked with a password, or takes too much.
        """
        try:
            self._pipe.send((path, SECONDS))
            result: int | str = self._pipe.recv()
        except (EOFError, OSError) as exc:
            was_new = self._is_new
            self.__exit__()
            timed_out = self._process.exitcode == -signal.SIGALRM
            self.__enter__()
            if not (was_new or timed_out):  # the files before it may have left too little memory
                return self.count(path)
            limits = f"{SECONDS} seconds and {MEGABYTES} MB of memory"
            raise ValueError(f"cannot be read within {limits}") from exc
        self._is_new = False
        if isinstance(result, str):
            raise ValueError(result)
        return result


def _serve(pipe: Connection) -> None:
    """Responds to each path with the number, or with what is wrong, until the other end is closed.

    A file that takes too much ends the process without a response.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the import
    most = MEGABYTES * 1_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    # It would log warnings about readable but flawed files.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    while True:
        try:
            path, seconds = pipe.recv()
            signal.alarm(seconds)  # which ends the process
            with path.open("rb") as file:
                result: int | str = len(PdfReader(file).pages)
        except (EOFError, MemoryError):
            return
        except Exception as exc:  # a damaged file can raise any exception
            result = f"is not a PDF that can be read ({exc!r})"
        signal.alarm(0)
        pipe.send(result)
