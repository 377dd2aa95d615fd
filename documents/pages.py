"""Counts the pages of PDFs in a process of its own, which gives each file only so much.

A small file can keep pypdf busy for hours, or need gigabytes. The process imports this module,
which therefore imports no models.
"""

import logging
import multiprocessing
import resource
import signal
from pathlib import Path
from typing import Self

from pypdf import PdfReader
from pypdf.errors import FileNotDecryptedError

SECONDS = 10
MEGABYTES = 100  # of memory, with what the process needs itself


class PageCounter:
    """The process. One that a file has taken too long is replaced."""

    def __enter__(self) -> Self:
        self._pool = multiprocessing.get_context("spawn").Pool(1, _limit)
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.terminate()
        self._pool.join()

    def count(self, path: Path) -> int | str:
        """The number of a PDF's pages, or why they cannot be counted."""
        try:
            counted: int = self._pool.apply_async(_count, [path]).get(SECONDS)
        except (multiprocessing.TimeoutError, MemoryError):
            self.__exit__()
            self.__enter__()
            return f"cannot be read within {SECONDS} seconds and {MEGABYTES} MB of memory"
        except FileNotDecryptedError:
            return "needs a password to be read"
        except Exception as exc:  # a damaged file can raise any exception
            return f"cannot be read as a PDF ({exc!r})"
        return counted or "has no pages"


def _limit() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the import
    most = MEGABYTES * 1_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    # It would log warnings about readable but flawed files.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)


def _count(path: Path) -> int:
    with path.open("rb") as file:
        return len(PdfReader(file).pages)
