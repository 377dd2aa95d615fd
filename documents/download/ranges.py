"""Which part of a file a request asks for (RFC 9110, section 14).

One range is served; several are answered with the whole file, which the RFC allows. A header
that is not of the RFC's form is as good as none.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from django.utils.http import parse_http_date_safe

from config.api.errors import RangeNotSatisfiable

_SPEC = re.compile(r"([0-9]*)-([0-9]*)")
_BEYOND = 10**18  # stands for any longer number: no file has as many bytes


@dataclass(frozen=True)
class ByteRange:
    """Bytes `first` to `last`, both included, of a file of `size` bytes."""

    first: int
    last: int
    size: int

    @property
    def length(self) -> int:
        """Bytes in the range."""
        return self.last - self.first + 1

    @property
    def content_range(self) -> str:
        """The value of Content-Range."""
        return f"bytes {self.first}-{self.last}/{self.size}"

    @property
    def request(self) -> str:
        """The value of a Range header that asks for it."""
        return f"bytes={self.first}-{self.last}"


def parse_range(header: str, size: int) -> ByteRange | None:
    """The one range that a Range header asks for; None when the whole file is the answer.

    Raises:
        RangeNotSatisfiable: 416, the file has no such bytes.
    """
    unit, equals, ranges = header.partition("=")
    if unit.strip().lower() != "bytes" or not equals:
        return None
    # Empty elements of a list count for nothing (RFC 9110, section 5.6.1).
    specs = [spec for part in ranges.split(",") if (spec := part.strip(" \t"))]
    matches = [_SPEC.fullmatch(spec) for spec in specs]
    if len(matches) != 1 or matches[0] is None:
        return None
    first, last = (_number(text) for text in matches[0].groups())
    if first is None:
        return None if last is None else _suffix(last, size)
    if last is not None and last < first:
        return None
    if first >= size:
        raise RangeNotSatisfiable(size)
    return ByteRange(first, size - 1 if last is None else min(last, size - 1), size)


def _suffix(length: int, size: int) -> ByteRange:
    """The last `length` bytes; all of them when the file is shorter."""
    if length == 0:
        raise RangeNotSatisfiable(size)
    return ByteRange(max(0, size - length), size - 1, size)


def _number(text: str) -> int | None:
    if not text:
        return None
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= 18 else _BEYOND


def if_range_holds(header: str, etag: str, last_modified: datetime) -> bool:
    """Whether the file is still the one that If-Range speaks of, so that a part of it will do.

    A date counts only when it is exactly Last-Modified; a weak tag never does.
    """
    if header.startswith(('"', "W/")):
        return header == etag
    return parse_http_date_safe(header) == int(last_modified.timestamp())
