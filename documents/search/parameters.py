"""The parameters of the search; one that is unknown or not valid is a 400.

A misspelt filter must never return everything.
"""

import contextlib
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

import msgspec
from django.http import QueryDict

from config.api.errors import InvalidParameter
from config.api.parameters import one_of, single
from documents.models import DocumentStatus, RecipientStatus, is_address

SORTS = ("created", "completed", "expires")
TIMES = ("created", "sent", "completed", "expires")
CURSOR_EXPECTED = "the nextCursor of the previous page, with the same parameters"
TIME_EXPECTED = "a date such as 2026-07-01, or a time with an offset such as 2026-07-01T09:30:00Z"
TEXT_MAX = 254  # characters of an e-mail address, or of a title's words
WORDS_MAX = 8
_LENGTH = f"of at most {TEXT_MAX} characters"
ADDRESS_EXPECTED = f"an e-mail address without spaces, {_LENGTH}; in a URL, + is %2B"
WORDS_EXPECTED = f"1 to {WORDS_MAX} words of letters or digits, {_LENGTH}"

_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Range(NamedTuple):
    """The documents whose `<time>_at` is from `first` on and before `end`, where they are given."""

    time: str
    first: datetime | None
    end: datetime | None


class Search(NamedTuple):
    """What is searched for, and in which order it comes."""

    statuses: tuple[str, ...]  # the document has one of these; () for any
    recipient: str | None  # a recipient has this e-mail address, in any case
    recipient_status: str | None  # a recipient has this status; with `recipient`, that recipient
    title: str | None  # each of its words is the beginning of one of the title's
    ranges: tuple[Range, ...]  # those that were given
    sort: str  # one of SORTS: newest first; documents without that time are not found


# In the order of the OpenAPI document.
NAMES = (
    "status",
    *(f"{time}{end}" for time in TIMES for end in ("From", "Before")),
    *("recipient", "recipientStatus", "title", "sort", "limit", "cursor"),
)


def read(query: QueryDict) -> Search:
    """The search that a request asks for; InvalidParameter if one is unknown or not valid."""
    for name in query:
        if name not in NAMES:
            raise InvalidParameter(name[:TEXT_MAX], f"one of {', '.join(NAMES)}", "is unknown")
    ranges = [
        Range(time, _time(query, f"{time}From"), _time(query, f"{time}Before")) for time in TIMES
    ]
    return Search(
        _statuses(query),
        _text(query, "recipient", ADDRESS_EXPECTED, is_address),
        one_of(query, "recipientStatus", tuple(RecipientStatus.values)),
        # PostgreSQL stores no NUL, and U+E000 is a mark in `documents/folding.sql`.
        _text(query, "title", WORDS_EXPECTED, {"\0", "\ue000"}.isdisjoint),
        tuple(each for each in ranges if each.first or each.end),
        one_of(query, "sort", SORTS) or SORTS[0],
    )


def _statuses(query: QueryDict) -> tuple[str, ...]:
    given = set(query.getlist("status"))
    if unknown := given - set(DocumentStatus.values):
        problem = "is empty" if unknown == {""} else "is not valid"
        raise InvalidParameter("status", f"one of {', '.join(DocumentStatus.values)}", problem)
    return () if len(given) == len(DocumentStatus) else tuple(sorted(given))


def _text(query: QueryDict, name: str, expected: str, valid: Callable[[str], bool]) -> str | None:
    value = single(query, name, expected)
    if value is not None and (len(value) > TEXT_MAX or not valid(value)):
        raise InvalidParameter(name, expected)
    return value


def spellings(address: str) -> list[str]:
    """The address with its domain as it was given, in ASCII (`xn--…`) and in Unicode (IDNA)."""
    local, _, domain = unicodedata.normalize("NFC", address.lower()).rpartition("@")
    found = [address]
    with contextlib.suppress(UnicodeError):
        found.append(f"{local}@{domain.encode('idna').decode()}")
        found.append(f"{local}@{domain.encode('idna').decode('idna')}")
    return list(dict.fromkeys(found))


def _time(query: QueryDict, name: str) -> datetime | None:
    value = single(query, name, TIME_EXPECTED)
    if value is None:
        return None
    try:
        text = f"{value}T00:00:00Z" if len(value) == len("2026-07-01") else value
        return msgspec.convert(text, _Time).astimezone(UTC)
    except (msgspec.ValidationError, OverflowError):
        raise InvalidParameter(name, TIME_EXPECTED) from None
