"""The request's id, its line in the access log, and its metrics; and its Host header."""

import contextlib
import sys
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import msgspec
from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.encoding import escape_uri_path

from config import systemd
from config.connections import hangs
from config.request import metrics
from config.request.context import Notes, current_request, new_request_id
from config.request.logs import line_start
from config.request.redaction import redact, shown

# The fields of a line as text, besides the request itself and its response.
TEXT_FIELDS = ("bytes", "key_prefix", "workspace_id", "client_address", "reason")


class RequestIdMiddleware:
    """Gives the request an id, makes it the current request, and logs and counts its response.

    A client cannot choose the id: it could repeat one, and an audit entry must lead to exactly one
    request.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.monotonic()
        user_agent = request.META.get("HTTP_USER_AGENT", "")
        notes = Notes(new_request_id(), client_address(request), user_agent)
        request.notes = notes  # type: ignore[attr-defined]
        token = current_request.set(request)
        systemd.running[notes.request_id] = started  # for its watchdog
        try:
            response = self.get_response(request)
            response["Request-Id"] = notes.request_id
            for name, value in notes.headers.items():
                response[name] = value
            if response.status_code == 304 and response.get("Content-Length") == "0":
                # From Django's CommonMiddleware; it would be the length of the 200's body.
                del response["Content-Length"]
            notes.route = route_of(request)
            notes.seconds = time.monotonic() - started
            count_request(request, response, notes)
            log_request(request, response, notes)
            return response
        finally:
            del systemd.running[notes.request_id]
            current_request.reset(token)


class HostMiddleware(CommonMiddleware):
    """Django's, but health checks and metrics may have any Host header."""

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        if request.path_info.removeprefix("/") in settings.HEALTH_PATHS:
            return None
        return super().process_request(request)


class DatabaseMiddleware(MiddlewareMixin):
    """A page is a 503 within seconds while the database hangs."""

    def process_request(self, request: HttpRequest) -> None:
        if request.path.startswith(reverse("admin:index")) and hangs():
            raise OperationalError("PostgreSQL does not respond to a new connection.")


def count_request(request: HttpRequest, response: HttpResponse, notes: Notes) -> None:
    method = request.method if request.method in metrics.METHODS else "other"  # clients invent some
    requests, seconds = metrics.of_route(method, notes.route, response.status_code)
    requests.inc()
    seconds.observe(notes.seconds)


def log_request(request: HttpRequest, response: HttpResponse, notes: Notes) -> None:
    """Writes the access log's line, without Python's loggers, which would take twice as long."""
    method, status = request.method or "", response.status_code
    fields: dict[str, Any] = {
        "method": method[:20],
        "route": notes.route,
        "path": shown(escape_uri_path(request.path)),  # prevents log injection
        "status": status,
        "milliseconds": round(notes.seconds * 1000, 1),
        "bytes": body_length(method, response),
        "key_prefix": notes.key_prefix,
        "workspace_id": str(notes.key.workspace_id) if notes.key else None,
        "client_address": notes.client_address,
        "user_agent": shown(notes.user_agent) or None,
        "user": notes.user,
        "reason": shown(notes.reason) if notes.error else None,  # it may quote a header
        "cause": notes.error.cause if notes.error else None,
    }
    pairs = [f"{name}={'-' if fields[name] is None else fields[name]}" for name in TEXT_FIELDS]
    line = f"{fields['method']} {fields['path']} {status} {fields['milliseconds']} ms "
    line += " ".join(pairs)
    if settings.LOG_FORMAT == "json":
        line = msgspec.json.encode({**line_start("INFO", "access", line), **fields}).decode()
    else:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} INFO access [{notes.request_id}] {line}"
    # Like Python's handlers: a full disk, or a journal that went away, fails no request.
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{redact(line)}\n")


def route_of(request: HttpRequest) -> str:
    """The URL pattern that the path matches; "other" if it is unknown, or was not looked for."""
    match = request.resolver_match
    if match is None or "(?P<" in match.route:  # regexes match what is unknown
        return "other"
    return f"/{match.route}"


def body_length(method: str, response: HttpResponse) -> int | None:
    if method == "HEAD" or response.status_code in (204, 304):
        return 0
    length = response.get("Content-Length")
    return int(length) if length else None


def client_address(request: HttpRequest) -> str:
    """The client's address as text; "" if the server does not know it.

    Each trusted proxy appends the address of its client to `X-Forwarded-For`. The client itself
    may have written the entries further left.
    """
    direct: str = request.META.get("REMOTE_ADDR", "")
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    is_whole = 0 < settings.TRUSTED_PROXIES <= len(hops)
    forwarded = hops[-settings.TRUSTED_PROXIES] if is_whole else direct
    for text in (forwarded, direct):  # a proxy that does not know its client may write "unknown"
        with contextlib.suppress(ValueError):
            address = ip_address(text.strip().partition("%")[0])  # without the zone
            return str(getattr(address, "ipv4_mapped", None) or address)
    return ""
