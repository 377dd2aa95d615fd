"""What each request adds to the buffers: a few microseconds, and no query."""

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apikeys.usage import traffic
from apikeys.usage.buffers import ADDRESSES, COUNTS, count, count_address
from apikeys.usage.refusals import REFUSED
from config.api.request import ActiveKey
from config.error_pages import is_api
from config.runtime.request_context import Notes, client_address, current_notes

logger = logging.getLogger(__name__)

BUFFERS = (COUNTS, ADDRESSES, REFUSED, traffic.TRAFFIC)
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
    key: ActiveKey | None = notes.key
    if key is None and status < 400:
        return
    now = time.time()
    address = client_address(request)
    if key is not None:
        # HEAD sends no file. No other path of the API ends like this.
        download = (
            status in _DOWNLOADS and request.method == "GET" and request.path.endswith("/download")
        )
        count(key, status, now, download=download)
        count_address(key.id, address, request.META.get("HTTP_USER_AGENT"), now)
    if status >= 400 and is_api(request):
        REFUSED.add(request, status, address, notes, now)
