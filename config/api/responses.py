"""JSON responses and conditional requests."""

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import PreconditionFailed

_encoder = msgspec.json.Encoder()

VARY = {"Vary": "Authorization"}  # for caches that would ignore `private`
# A client may keep its copy, and asks each time whether it is current: so the copy of one key is
# never the response to another.
REVALIDATED = {"Cache-Control": "private, no-cache", **VARY}
NOT_STORED = {"Cache-Control": "no-store", **VARY}


def as_json(data: Any) -> bytes:
    """msgspec's structs, dicts and lists as UTF-8 JSON: UUIDs as strings, times as UTC with `Z`."""
    return _encoder.encode(data)


def json_response(
    data: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    all_headers = {**NOT_STORED, **(headers or {})}
    # No charset: JSON is UTF-8 by definition (RFC 8259).
    return HttpResponse(as_json(data), "application/json", status, headers=all_headers)


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

    If there is one, the response is a 304. nginx makes the tag of a compressed response weak, and
    a cache only refreshes the copy that has the tag of the 304.

    Args:
        etag: the strong tag of the current version.
        last_modified: when that was made, in seconds since the epoch; None if it has no date.

    Raises PreconditionFailed (412).
    """
    if last_modified is None:  # RFC 9110 ignores this header then (section 13.1.4); Django does not
        request.META.pop("HTTP_IF_UNMODIFIED_SINCE", None)
    found = get_conditional_response(request, etag, last_modified)
    if found is None:
        return None
    if found.status_code == PreconditionFailed.status_code:
        raise PreconditionFailed
    weak = f"W/{etag}"
    return weak if weak in request.META.get("HTTP_IF_NONE_MATCH", "") else etag


def link_to_next(path: str, **query: object) -> dict[str, str]:
    """The header `Link` of a page that another one follows (RFC 8288).

    In its query, a parameter that is None is left out, and each of a list is one.
    """
    given = {name: value for name, value in query.items() if value is not None}
    return {"Link": f'<{path}?{urlencode(given, doseq=True)}>; rel="next"'}
