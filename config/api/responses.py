"""JSON responses, and the exception handler that turns any exception into one."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpResponse

from config.api.errors import ApiError, InvalidRequest, PathNotFound, ServerError, Unavailable
from config.database import UNAVAILABLE
from config.request_context import note, remember

logger = logging.getLogger(__name__)

_encoder = msgspec.json.Encoder()

VARY = {"Vary": "Authorization"}  # for caches that would ignore `private`
# JSON has recipients' names and addresses, so no copy is kept anywhere; errors are the same.
HEADERS = {"Content-Type": "application/json", "Cache-Control": "private, no-store", **VARY}


def as_json(data: Any) -> bytes:
    """msgspec's structs, dicts and lists as UTF-8 JSON: UUIDs as strings, times as UTC with `Z`."""
    return _encoder.encode(data)


def json_response(
    data: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """A response whose body is `data` as JSON."""
    # No charset: JSON is UTF-8 by definition (RFC 8259).
    return HttpResponse(as_json(data), status=status, headers={**HEADERS, **(headers or {})})


def as_api_error(exc: BaseException) -> ApiError:
    """The API error for an exception; a `ServerError` for an unexpected one."""
    if isinstance(exc, ApiError):
        return exc
    if isinstance(exc, UNAVAILABLE):
        return Unavailable("database", str(exc))
    if isinstance(exc, SuspiciousOperation):  # such as more parameters than Django accepts
        return InvalidRequest()
    if isinstance(exc, Http404):
        return PathNotFound()
    return ServerError()


def exception_handler(exc: Exception) -> HttpResponse:
    """The response to any exception of an API view."""
    error = as_api_error(exc)
    if isinstance(error, Unavailable):
        logger.error("Responded 503: %s", error.reason)
    elif isinstance(error, ServerError):
        logger.error("Responded 500", exc_info=exc)
    return error_response(error)


def error_response(error: ApiError) -> HttpResponse:
    """The response to an API error; the access log gets its reason."""
    note_error(error)
    return json_response(error.body, error.status_code, error.headers)


def note_error(error: ApiError) -> None:
    """Adds the reason of an error to the access log's line; listeners get the error."""
    remember(error=error)
    note(reason=(error.reason or error.text).partition("\n")[0])  # PostgreSQL's have several lines
    if isinstance(error, Unavailable):
        note(cause=error.cause)
