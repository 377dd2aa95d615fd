"""The part of a file that a request asks for (RFC 9110, section 14).

A single range is supported. Several ranges get the whole file, which the RFC allows. A malformed
header is ignored.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from django.utils.http import parse_http_date_safe

from config.api.errors import RangeNotSatisfiable

_SPEC = re.compile(r"([0-9]*)-([0-9]*)")
_DIGITS = 18  # of a longer number, its first ones: no file has so many bytes


@dataclass(frozen=True)
class ByteRange:
    """Bytes `first` to `last`, both included, of a file of `size` bytes."""

    first: int
    last: int
    size: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    @property
    def range_header(self) -> str:
        return f"bytes={self.first}-{self.last}"

    def __str__(self) -> str:
        return f"{self.first}-{self.last}/{self.size}"


def parse_range(header: str, size: int) -> ByteRange | None:
    """The range in a Range header; None if the whole file is to be sent.

    Raises RangeNotSatisfiable if the file has no such bytes.
    """
    unit, _, ranges = header.partition("=")
    if unit.strip().lower() != "bytes":
        return None
    # Empty list elements are ignored (RFC 9110, section 5.6.1).
    specs = [spec for part in ranges.split(",") if (spec := part.strip(" \t"))]
    found = _SPEC.fullmatch(specs[0]) if len(specs) == 1 else None
    if found is None:
        return None
    first, last = (
        int(text.lstrip("0")[:_DIGITS] or 0) if text else None for text in found.groups()
    )
    if first is None:  # the last bytes; all of them if the file is shorter
        if last is None:
            return None
        first, last = max(0, size - last), None
    if last is not None and last < first:
        return None
    if first >= size:
        raise RangeNotSatisfiable(size)
    return ByteRange(first, size - 1 if last is None else min(last, size - 1), size)


def if_range_holds(header: str, etag: str, last_modified: datetime) -> bool:
    """Whether If-Range names this version of the file, so that a part of it may be sent.

    A date must be exactly Last-Modified. A weak tag never matches.
    """
    if header.startswith(('"', "W/")):
        return header == etag
    return parse_http_date_safe(header) == int(last_modified.timestamp())
