"""Conditional requests (RFC 9110, section 13): the one comparison of entity tags and dates.

Not Django's `get_conditional_response`: it refuses `If-Unmodified-Since` where a resource has no
date.
"""

from django.utils.http import parse_etags, parse_http_date_safe
from rest_framework.request import Request

from config.api.errors import PreconditionFailed


def tag_of_copy(request: Request, etag: str, last_modified: int | None = None) -> str | None:
    """The tag of the client's copy if it is the current version, so that the response is a 304.

    That is the tag as the client sent it. nginx makes the tag of a compressed response weak, and
    a cache only refreshes the copy that has the tag of the 304.

    Args:
        etag: the tag of the current version.
        last_modified: when that was made, in seconds since the epoch; None if it has no date.

    Raises:
        PreconditionFailed: 412.
    """
    if _has_changed(request, etag, last_modified):
        raise PreconditionFailed
    if known := _tags(request, "HTTP_IF_NONE_MATCH"):
        weak = f"W/{etag.removeprefix('W/')}"
        if weak in known:
            return weak
        return etag if {"*", etag} & known else None
    date = _date(request, "HTTP_IF_MODIFIED_SINCE")
    is_current = date is not None and last_modified is not None and last_modified <= date
    return etag if is_current else None


def _has_changed(request: Request, etag: str, last_modified: int | None) -> bool:
    """Whether the current version is not the one that the request is about."""
    if accepted := _tags(request, "HTTP_IF_MATCH"):  # the comparison is strong
        strong = set() if etag.startswith("W/") else {etag}
        return not ({"*"} | strong) & accepted
    date = _date(request, "HTTP_IF_UNMODIFIED_SINCE")
    return date is not None and last_modified is not None and last_modified > date


def _tags(request: Request, header: str) -> set[str]:
    """The tags in a header; empty if it is absent or malformed."""
    sent = request.META.get(header)
    return set(parse_etags(sent)) if sent else set()


def _date(request: Request, header: str) -> int | None:
    """The date in a header; None if it is absent or malformed."""
    sent = request.META.get(header)
    return parse_http_date_safe(sent) if sent else None
