"""JSON as every answer of the API writes it."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from django.core.exceptions import SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse

from config.api.errors import ApiError, InvalidRequest, PathNotFound, ServerError, Unavailable

_encoder = msgspec.json.Encoder()


def as_json(data: Any) -> bytes:
    """`data` as UTF-8 JSON: UUIDs as strings, times as UTC with `Z`.

    Args:
        data: msgspec's structs, dicts, lists and what they hold.
    """
    return _encoder.encode(data)


def json_response(
    data: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """An answer whose body is `data` as JSON."""
    # No charset: JSON is UTF-8 by definition (RFC 8259).
    return HttpResponse(
        as_json(data),
        status=status,
        headers={"Content-Type": "application/json", **(headers or {})},
    )


logger = logging.getLogger(__name__)


def as_api_error(exc: BaseException) -> ApiError:
    """The row of the table that an exception belongs to; a `ServerError` when it has none."""
    if isinstance(exc, ApiError):
        return exc
    if isinstance(exc, OperationalError | InterfaceError):
        return Unavailable()
    if isinstance(exc, SuspiciousOperation):  # more parameters than Django reads, for one
        return InvalidRequest()
    if isinstance(exc, Http404):
        return PathNotFound()
    return ServerError()


def answer(exc: Exception) -> HttpResponse:
    """Any exception of an API view as its row of the table."""
    error = as_api_error(exc)
    if isinstance(error, Unavailable):
        logger.error("Answered 503: %s", exc.__cause__ or exc)
    elif isinstance(error, ServerError):
        logger.error("Answered 500", exc_info=exc)
    return error_response(error)


def error_response(error: ApiError) -> HttpResponse:
    """An error as a response."""
    return json_response(error.body, error.status_code, error.headers)
