"""Calls of the API, in process and over a socket, with one kind of answer to compare."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.test import Client

from tests import openapi

GOLDEN = Path(__file__).parent / "golden"
# What may differ between two answers that are the same.
OF_ONE_ANSWER = (
    "request-id",
    "date",
    "ratelimit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
)


@dataclass(frozen=True)
class Answer:
    """One answer, all of it. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; fails when the answer does not say that it is."""
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The text of an error answer, which has nothing else in its body."""
        body = self.json()
        assert list(body) == ["error"]
        text: str = body["error"]
        assert text
        return text

    def same(self) -> tuple[int, dict[str, str], bytes]:
        """What two same answers have in common, byte for byte."""
        kept = {name: self.headers[name] for name in self.headers if name not in OF_ONE_ANSWER}
        return self.status, kept, self.body


@cache
def _client() -> Client:
    """One for all: each of them loads the middleware anew. The API sets no cookies."""
    return Client(raise_request_exception=False)


def get(path: str, authorization: str | None = None, method: str = "GET", **headers: str) -> Answer:
    """Asks the API in process, through the whole middleware.

    Args:
        path: with its query string.
        authorization: the header as it is sent; None for none.
        headers: further ones, `user_agent="…"` for User-Agent.
    """
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if authorization is not None:
        sent["Authorization"] = authorization
    response = _client().generic(method, path, headers=sent)
    if response.streaming:
        chunks: Iterable[bytes] = response.streaming_content  # type: ignore[attr-defined]
        body = b"".join(chunks)
    else:
        body = response.content
    answer = Answer(
        response.status_code, {name.lower(): value for name, value in response.items()}, body
    )
    openapi.check_response(method, path, answer.status, answer.headers, answer.body)
    return answer


def golden(name: str) -> Any:
    """The whole expected body."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


def compact(data: Any) -> bytes:
    """`data` as JSON, as the API sends it: UTF-8, no spaces."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
