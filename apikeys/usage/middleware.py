"""What each request adds to the buffers: a few microseconds, and no query."""

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apikeys.usage import traffic
from apikeys.usage.buffers import count
from apikeys.usage.refusals import REFUSED
from config.error_pages import is_api
from config.runtime.request_context import Notes, client_address, current_notes

logger = logging.getLogger(__name__)

_DOWNLOADS = (200, 206)

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def count_usage(get_response: GetResponse) -> GetResponse:
    """Middleware: counts the requests of known keys, and keeps refused ones for support."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        started = time.monotonic()
        response = get_response(request)
        try:
            if is_api(request):
                traffic.add(response.status_code, time.monotonic() - started, time.time())
            _count(request, response.status_code, current_notes())
        except Exception:  # it must fail no request
            logger.exception("A request is not counted")
        return response

    return middleware


def _count(request: HttpRequest, status: int, notes: Notes) -> None:
    if notes.key is None and status < 400:
        return
    now, address = time.time(), client_address(request)
    if notes.key is not None:
        # HEAD sends no file. No other path of the API ends like this.
        download = (
            status in _DOWNLOADS and request.method == "GET" and request.path.endswith("/download")
        )
        user_agent = request.META.get("HTTP_USER_AGENT")
        count(notes.key, status, now, download=download, address=address, user_agent=user_agent)
    if status >= 400 and is_api(request):
        REFUSED.add(request, status, address, notes, now)
