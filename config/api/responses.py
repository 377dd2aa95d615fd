"""JSON responses and conditional requests."""

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.http import HttpResponse
from django.utils.http import parse_etags, parse_http_date_safe
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import PreconditionFailed

_encoder = msgspec.json.Encoder()

JSON = {"Content-Type": "application/json"}
VARY = {"Vary": "Authorization"}  # for caches that would ignore `private`
# A client may keep its copy, and asks each time whether it is current: so the copy of one key is
# never the response to another.
REVALIDATED = {"Cache-Control": "private, no-cache", **VARY}
NOT_STORED = {**JSON, "Cache-Control": "no-store", **VARY}


def as_json(data: Any) -> bytes:
    """msgspec's structs, dicts and lists as UTF-8 JSON: UUIDs as strings, times as UTC with `Z`."""
    return _encoder.encode(data)


def json_response(
    data: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    # No charset: JSON is UTF-8 by definition (RFC 8259).
    return HttpResponse(as_json(data), status=status, headers={**NOT_STORED, **(headers or {})})


def conditional(request: Request, response: Response) -> Response:
    """The response with an `ETag`, or a 304 if the client has it already.

    Its tag is a hash of the body, which is made in any case: no state has to be kept. Raises
    PreconditionFailed (412). So this is called in a view's method: what `finalize_response` raises
    does not reach the exception handler.
    """
    body = as_json(response.data)
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    response.data = msgspec.Raw(body)
    if tag := tag_of_copy(request, etag):
        response.status_code = 304
        response.data = None
    for name, value in {**REVALIDATED, "ETag": tag or etag}.items():
        response[name] = value
    return response


def tag_of_copy(request: Request, etag: str, last_modified: int | None = None) -> str | None:
    """The client's tag, weak or strong as it sent it, if its copy is current; otherwise None.

    If there is one, the response is a 304 (RFC 9110, section 13). nginx makes the tag of a
    compressed response weak, and a cache only refreshes the copy that has the tag of the 304. Not
    Django's `get_conditional_response`: it refuses `If-Unmodified-Since` without a date.

    Args:
        etag: the tag of the current version, which is strong.
        last_modified: when that was made, in seconds since the epoch; None if it has no date.

    Raises:
        PreconditionFailed: 412.
    """
    sent = request.META
    if _has_changed(sent, etag, last_modified):
        raise PreconditionFailed
    if known := _tags(sent, "HTTP_IF_NONE_MATCH"):
        weak = f"W/{etag}"
        if weak in known:
            return weak
        return etag if {"*", etag} & known else None
    date = _date(sent, "HTTP_IF_MODIFIED_SINCE")
    is_current = date is not None and last_modified is not None and last_modified <= date
    return etag if is_current else None


def _has_changed(sent: Mapping[str, str], etag: str, last_modified: int | None) -> bool:
    """Whether the current version is not the one that the request is about."""
    if accepted := _tags(sent, "HTTP_IF_MATCH"):  # the comparison is strong
        return not {"*", etag} & accepted
    date = _date(sent, "HTTP_IF_UNMODIFIED_SINCE")
    return date is not None and last_modified is not None and last_modified > date


def _tags(sent: Mapping[str, str], header: str) -> set[str]:
    """The tags in a header; empty if it is absent or malformed."""
    return set(parse_etags(sent[header])) if header in sent else set()


def _date(sent: Mapping[str, str], header: str) -> int | None:
    """The date in a header; None if it is absent or malformed."""
    return parse_http_date_safe(sent[header]) if header in sent else None


def link_to_next(path: str, **query: object) -> dict[str, str]:
    """The header `Link` of a page that another one follows (RFC 8288).

    In its query, a parameter that is None is left out, and each of a list is one.
    """
    given = {name: value for name, value in query.items() if value is not None}
    return {"Link": f'<{path}?{urlencode(given, doseq=True)}>; rel="next"'}
