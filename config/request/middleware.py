"""The outermost middleware: the request id, the access log, and the metrics of requests."""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from config import systemd
from config.request import metrics
from config.request.context import Notes, current_request, new_request_id
from config.request.logs import log_request, request_id

GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """Gives the request an id, makes it the current request, and logs and counts its response.

    A client cannot choose the id: it could repeat one, and an audit entry must lead to exactly one
    request.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.monotonic()
        request.notes = notes = Notes()  # type: ignore[attr-defined]
        id = new_request_id()
        request_token, id_token = current_request.set(request), request_id.set(id)
        systemd.running[id] = started
        try:
            response = self.get_response(request)
            response["Request-Id"] = id
            if response.status_code == 304 and response.get("Content-Length") == "0":
                # From Django's CommonMiddleware; it would be the length of the 200's body.
                del response["Content-Length"]
            record(request, response, notes, time.monotonic() - started)
            return response
        finally:
            del systemd.running[id]
            current_request.reset(request_token)
            request_id.reset(id_token)


def record(request: HttpRequest, response: HttpResponse, notes: Notes, seconds: float) -> None:
    """Writes the access log's line, and counts the request."""
    method, status = request.method or "", response.status_code
    route = route_of(request)
    metrics.observe_request(method, route, status, seconds)
    log_request(request, method, route, status, seconds, body_length(method, response), notes)


def route_of(request: HttpRequest) -> str:
    """The URL pattern that the path matches; "other" if it is unknown, or was not looked for."""
    match = request.resolver_match
    if match is None or "(?P<" in match.route:  # regexes match what is unknown
        return "other"
    return f"/{match.route}"


def body_length(method: str, response: HttpResponse) -> int | None:
    """Bytes of the body that the response is about to have; None if that is not known."""
    if method == "HEAD" or response.status_code in (204, 304):
        return 0
    length = response.get("Content-Length")
    return int(length) if length else None
