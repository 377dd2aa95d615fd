"""Whether a file is a PDF, and how many pages it has."""

import contextlib
import logging
from collections.abc import Iterator
from typing import IO

from pypdf import PdfReader
from pypdf.errors import DependencyError

HEADER = b"%PDF-"
HEADER_WITHIN = 1024  # bytes; viewers accept a header that does not begin the file


class NotPdf(Exception):
    """The file is no PDF that can be read; the text says what it is instead."""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps what pypdf says of files that it can read nevertheless out of the log."""
    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def page_count(file: IO[bytes]) -> int:
    """The number of pages, at least 1.

    Raises:
        NotPdf: it is something else, damaged, empty, or locked with a password.
    """
    if HEADER not in file.read(HEADER_WITHIN):
        raise NotPdf("is not a PDF")
    file.seek(0)
    with _quiet():
        try:
            reader = PdfReader(file)
            locked = reader.is_encrypted and not reader.decrypt("")
            pages = 0 if locked else len(reader.pages)
        except DependencyError:  # pypdf leaves AES to a package that nothing else here needs
            raise NotPdf("is an encrypted PDF") from None
        except Exception as exc:  # damage shows as any exception at all
            raise NotPdf(f"is a PDF that cannot be read ({type(exc).__name__})") from exc
    if locked:
        raise NotPdf("is a PDF locked with a password")
    if pages < 1:
        raise NotPdf("is a PDF without pages")
    return pages
