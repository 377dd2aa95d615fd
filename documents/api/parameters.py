"""The query parameters of the documents endpoints; an invalid one is a 400."""

from django.http import QueryDict

from config.api.parameters import one_of, single

# SPEC: PARTIALLY_SIGNED is a status but not a filter value.
STATUS_FILTER = ("DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED")
FILE_TYPES = ("signed", "original", "certificate")
CURSOR_EXPECTED = "the nextCursor of the previous page, with the same status filter"


def status(query: QueryDict) -> str | None:
    """The status to filter by; None for all."""
    return one_of(query, "status", STATUS_FILTER)


def file_type(query: QueryDict) -> str | None:
    """The type of file to download; None for the default."""
    return one_of(query, "type", FILE_TYPES)


def cursor(query: QueryDict) -> str | None:
    """The cursor as it was sent; None for the first page."""
    return single(query, "cursor", CURSOR_EXPECTED)
