"""Sends an export to a browser. It occupies one of few threads until its last byte."""

import logging
import threading
import time
from collections.abc import Callable, Iterator

from django.contrib.admin import site
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.http import content_disposition_header

from config.console.base import request_user

logger = logging.getLogger(__name__)

EXPORT_SECONDS = 900.0  # that an export may take; then it is broken off
MOST = 2  # exports that a process sends at a time, one to each user
# Neither a line of a whole CSV file nor JSON.
BROKEN_OFF = '\r\n"This file is not whole: the export was broken off here."\r\n'

_lock = threading.Lock()
_served: set[int] = set()  # the users to whom an export is being sent


def send(
    request: HttpRequest, make: Callable[[], Iterator[str]], *, name: str, content_type: str
) -> HttpResponseBase:
    """The file as a download, which `make` records and begins; or a page with the status 429."""
    parts = _sending(request_user(request).pk, make)
    if next(parts, None) is None:
        context = {**site.each_context(request), "title": "Nothing was exported"}
        return render(request, "admin/audit/too_many_exports.html", context, status=429)
    disposition = content_disposition_header(True, name) or ""
    headers = {"Content-Disposition": disposition}
    return StreamingHttpResponse(parts, content_type=content_type, headers=headers)


def _sending(user_id: int, make: Callable[[], Iterator[str]]) -> Iterator[str]:
    """An empty text once the export has begun, then its parts; nothing if there are too many.

    Django closes it with the response, also after a client that has gone.
    """
    with _lock:
        if user_id in _served or len(_served) >= MOST:
            return
        _served.add(user_id)
    last = time.monotonic() + EXPORT_SECONDS
    try:
        parts = make()
        yield ""
        try:
            for part in parts:
                if time.monotonic() > last:
                    raise TimeoutError("the export takes too long")
                yield part
        except Exception:
            logger.exception("An export was broken off")
            yield BROKEN_OFF
            raise
    finally:
        _served.remove(user_id)
