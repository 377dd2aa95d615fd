"""Requests to the API, in process and over a socket, with one kind of response to compare."""

import json
import runpy
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.core.signals import request_finished
from django.test import Client, override_settings
from redis import Redis

from config.connections import close_failed
from tests.support import openapi

GOLDEN = Path(__file__).parent.parent / "golden"
CONFIG = Path(__file__).parent.parent.parent / "config"
# Headers that may differ between two responses that are otherwise the same.
OF_ONE_RESPONSE = ("request-id", "date", "ratelimit", "x-ratelimit-remaining", "x-ratelimit-reset")


def forget_requests() -> None:
    """Empties all counters, as the end of the minute does."""
    with Redis.from_url(settings.REDIS_URL) as redis:
        redis.flushdb()


@dataclass(frozen=True)
class Response:
    """One whole response. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; fails if the response has another content type."""
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The text of an error, whose body has no other field."""
        body = self.json()
        assert list(body) == ["error"]
        text: str = body["error"]
        assert text
        return text

    def same(self) -> tuple[int, dict[str, str], bytes]:
        """What two equal responses have in common, byte for byte."""
        kept = {name: self.headers[name] for name in self.headers if name not in OF_ONE_RESPONSE}
        return self.status, kept, self.body


@cache
def api_settings() -> dict[str, Any]:
    """The settings that ROLE=api changes, except for the installed apps: a process keeps its own.

    They, and the URLs, are read anew from their files.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROLE", "api")
        read = runpy.run_path(str(CONFIG / "settings.py"))
    changed = {name: read[name] for name in ("ROLE", "SERVES_API", "SERVES_PAGES", "MIDDLEWARE")}
    urls = ModuleType("urls_of_the_api")
    with override_settings(**changed):
        urls.__dict__.update(runpy.run_path(str(CONFIG / "urls.py")))
    return {**changed, "ROOT_URLCONF": urls}


class ApiProcess:
    """This process is one of the API, as long as any of its threads is within."""

    def __init__(self) -> None:
        self._lock, self._within = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._within:
                self._settings = override_settings(**api_settings())
                self._settings.enable()
                request_finished.connect(close_failed)
            self._within += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                request_finished.disconnect(close_failed)
                self._settings.disable()


API_PROCESS = ApiProcess()


@cache
def api_client() -> Client:
    """One client for all tests, since each loads the middleware."""
    client = Client(raise_request_exception=False)
    with API_PROCESS:
        client.handler.load_middleware()
    return client


def get(
    path: str, authorization: str | None = None, method: str = "GET", **headers: str
) -> Response:
    """Sends a request to the API in this process; a header is a keyword: `user_agent="…"`."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if authorization is not None:
        sent["Authorization"] = authorization
    # With a host, since "//api/v1/me" alone would be the path "/v1/me" of the host "api".
    with API_PROCESS:
        response = api_client().generic(method, f"http://testserver{path}", headers=sent)
        if response.streaming:
            chunks: Iterable[bytes] = response.streaming_content  # type: ignore[attr-defined]
            body = b"".join(chunks)
        else:
            body = response.content
    received = {name.lower(): value for name, value in response.items()}
    if "x-accel-redirect" not in received:  # which is for nginx, not for a client
        openapi.check_response(method, path, response.status_code, received, body)
    return Response(response.status_code, received, body)


def send_forms_as_browsers_do(patch: pytest.MonkeyPatch) -> None:
    """Makes Django's test client send forms without files urlencoded, not as multipart."""
    post = Client.post

    def urlencoded(self: Client, path: str, data: Any = None, **more: Any) -> Any:
        if "content_type" not in more:
            data = urlencode(data or {}, doseq=True)
            more["content_type"] = "application/x-www-form-urlencoded"
        return post(self, path, data, **more)

    patch.setattr(Client, "post", urlencoded)


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def compact(data: Any) -> bytes:
    """`data` as JSON, as the API sends it: UTF-8, no spaces."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
