"""Admission: which slots a request needs, and until when it must have ended."""

import re
import time
from collections.abc import Callable, Hashable
from functools import partial

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.error_pages import busy
from config.runtime import slots
from config.runtime.postgresql.deadlines import API_SECONDS, PAGE_SECONDS
from config.runtime.request_context import client_address, deadline, network_of

# The forms that hash a password, which takes as long as some dozen pages. They have a slot of their
# own, so guessing stops no page.
_PASSWORD_FORM = re.compile(
    r"/admin/(login|reset/.+|confirm-password|password_change|invitation)/", re.DOTALL
)


class AdmissionMiddleware:
    """Holds a slot while a request runs; refuses the request if there is none.

    A page that streams holds its slot until its last byte, unless its response has the attribute
    `without_slot`: it takes one itself when it needs the database (`audit.admin.sending`). A
    download gives it back before its first byte, since `documents.download` limits those that are
    sent.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        kind = class_of(request)
        semaphore = slots.SLOTS[kind]
        seconds = PAGE_SECONDS if kind in ("page", "password") else API_SECONDS
        token = deadline.set(time.monotonic() + seconds)
        tenant = _tenant(kind, request)
        try:
            semaphore.acquire(tenant)
        except slots.NoSlot:
            deadline.reset(token)
            return busy(request)
        response = None
        try:
            response = self.get_response(request)
        finally:
            deadline.reset(token)
            if response is not None and _keeps_slot(response, kind):
                response._resource_closers.append(partial(semaphore.release, tenant))  # type: ignore[attr-defined]
            else:
                semaphore.release(tenant)
        return response


def _keeps_slot(response: HttpResponseBase, kind: str) -> bool:
    """Whether the slot is needed until the last byte is sent."""
    without_slot = getattr(response, "without_slot", False)
    return response.streaming and kind in ("page", "static") and not without_slot


def is_api_version(path: str) -> bool:
    """Whether the path is one of the API's, which has JSON only; unlike `/api/docs`."""
    return path.startswith("/api/v1/") or path == "/api/v1"


def class_of(request: HttpRequest) -> str:
    """The class of a request, a name in `config.runtime.slots.SLOTS`."""
    path = request.path
    if is_api_version(path):
        if not path.startswith("/api/v1/documents"):
            return "api"
        return "download" if path.endswith("/download") else "documents"
    if request.method == "POST" and _PASSWORD_FORM.fullmatch(path):
        return "password"
    return "static" if path.startswith("/static/") else "page"  # for people


def _tenant(kind: str, request: HttpRequest) -> Hashable:
    """Whose request it is: a workspace's, or for pages a signed-in user's or an address's."""
    if kind in ("api", "documents", "download"):
        return slots.TENANTS.get(request.META.get("HTTP_AUTHORIZATION", ""))
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return slots.TENANTS.get(session) or network_of(client_address(request))
