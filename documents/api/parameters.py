"""The query parameters of the documents endpoints; an invalid one is a 400.

A parameter must not be empty or given twice. Unknown parameters are ignored.
"""

import re

from django.http import QueryDict

from config.api.errors import InvalidParameter

LIMIT_DEFAULT = 25
LIMIT_MAX = 100  # documents a page

# SPEC: PARTIALLY_SIGNED is a status but not a filter value.
STATUS_FILTER = ("DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED")
FILE_TYPES = ("signed", "original", "certificate")

_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,2}")


def _single(query: QueryDict, name: str, expected: str) -> str | None:
    """The parameter's only value; None if it is not given."""
    values = query.getlist(name)
    if len(values) > 1:
        raise InvalidParameter(name, expected, "is given more than once")
    if values == [""]:
        raise InvalidParameter(name, expected, "is empty")
    return values[0] if values else None


def _one_of(query: QueryDict, name: str, accepted: tuple[str, ...]) -> str | None:
    expected = f"one of {', '.join(accepted)}"
    value = _single(query, name, expected)
    if value is not None and value not in accepted:
        raise InvalidParameter(name, expected)
    return value


def status(query: QueryDict) -> str | None:
    """The status to filter by; None for all."""
    return _one_of(query, "status", STATUS_FILTER)


def file_type(query: QueryDict) -> str | None:
    """The type of file to download; None for the default."""
    return _one_of(query, "type", FILE_TYPES)


def limit(query: QueryDict) -> int:
    """The page size, 1 to 100."""
    expected = f"a whole number from 1 to {LIMIT_MAX}"
    value = _single(query, "limit", expected)
    if value is None:
        return LIMIT_DEFAULT
    if not _WHOLE_NUMBER.fullmatch(value) or int(value) > LIMIT_MAX:
        raise InvalidParameter("limit", expected)
    return int(value)


def cursor(query: QueryDict) -> str | None:
    """The cursor as it was sent; None for the first page."""
    return _single(query, "cursor", CURSOR_EXPECTED)


CURSOR_EXPECTED = "the nextCursor of the previous page, with the same status filter"
