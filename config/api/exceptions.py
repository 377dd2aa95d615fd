"""The API error that an exception is, and its response: DRF's `EXCEPTION_HANDLER`."""

import logging
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework.response import Response

from config.api.errors import ApiError, InvalidRequest, PathNotFound, ServerError, Unavailable
from config.api.responses import json_response
from config.connections import UNAVAILABLE

logger = logging.getLogger(__name__)


def as_api_error(exc: BaseException) -> ApiError:
    if isinstance(exc, ApiError):
        return exc
    if isinstance(exc, UNAVAILABLE):
        return Unavailable(cause="database", reason=f"the database: {exc}")
    if isinstance(exc, SuspiciousOperation):  # such as more parameters than Django accepts
        return InvalidRequest()
    if isinstance(exc, Http404):
        return PathNotFound()
    return ServerError()


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response:
    """Handles unexpected exceptions too, unlike DRF's: `got_request_exception` is not sent."""
    error = as_api_error(exc)
    if isinstance(error, Unavailable):
        logger.error("Responded 503: %s", error.reason)
    elif isinstance(error, ServerError):
        logger.error("Responded 500", exc_info=exc)
    context["request"].notes.error = error
    return Response(error.body, error.status_code, headers=error.headers)


def error_response(request: HttpRequest, error: ApiError) -> HttpResponse:
    """The response to an API error outside of an API view."""
    request.notes.error = error  # type: ignore[attr-defined]
    return json_response(error.body, error.status_code, error.headers)
