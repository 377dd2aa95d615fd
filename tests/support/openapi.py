"""Checks responses against the OpenAPI document: the API returns nothing that it does not declare.

The schemas are closed here: the document allows further fields, for later versions; a test does
not.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jsonschema_rs import Draft202012Validator

Json = dict[str, Any]

SCHEMA_FILE = Path(__file__).parent.parent.parent / "docs" / "openapi.json"
SCHEMA: Json = json.loads(SCHEMA_FILE.read_text())
OTHER_PATHS = "x-other-paths"  # our extension: the responses of every path not in `paths`

# Headers for servers, proxies and browsers; an API client does not need them.
TRANSPORT_HEADERS = {
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cross-origin-opener-policy",
    "date",
    "keep-alive",
    "referrer-policy",
    "server",
    "strict-transport-security",
    "transfer-encoding",
    "x-content-type-options",
    "x-frame-options",
}


class SchemaMismatch(AssertionError):
    """A response that the OpenAPI document does not declare."""


def resolved(node: Json) -> Json:
    """The object that `node` refers to, or itself."""
    while "$ref" in node:
        found: Any = SCHEMA
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def closed(schema: Any) -> Any:
    """The schema, with no additional properties allowed."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {**inner, "additionalProperties": False} if "properties" in schema else inner


@cache
def _schemas() -> Json:
    return {"schemas": closed(SCHEMA["components"]["schemas"])}


def validator(schema: Json) -> Draft202012Validator:
    whole = {**closed(schema), "components": _schemas()}
    return Draft202012Validator(whole, validate_formats=True)


@cache
def _paths() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), path)
        for path in SCHEMA["paths"]
    ]


def path_of(target: str) -> str:
    """The path in the OpenAPI document that matches a request's target."""
    path = unquote(target.partition("?")[0])
    return next((found for pattern, found in _paths() if pattern.fullmatch(path)), OTHER_PATHS)


@cache
def _response(path: str, status: int) -> "ResponseSchema":
    operation = SCHEMA["paths"].get(path)
    responses = operation["get"]["responses"] if operation else SCHEMA[OTHER_PATHS]
    if str(status) not in responses:
        raise SchemaMismatch(f"{path}: status {status}")
    return ResponseSchema(f"{path} {status}", resolved(responses[str(status)]))


class ResponseSchema:
    """The response with one status of one path."""

    def __init__(self, name: str, response: Json) -> None:
        self.name = name
        self.contents = {
            media_type: validator(content["schema"])
            for media_type, content in response.get("content", {}).items()
        }
        headers = {key.lower(): resolved(value) for key, value in response["headers"].items()}
        self.required = {key for key, header in headers.items() if header.get("required")}
        self.headers = {
            key: (header["schema"]["type"], validator(header["schema"]))
            for key, header in headers.items()
        }

    def check_headers(self, headers: Mapping[str, str]) -> None:
        """Every header is declared, the required ones are there, and each has a valid value."""
        self._fail_on("missing headers", self.required - headers.keys())
        self._fail_on(
            "undeclared headers", headers.keys() - self.headers.keys() - TRANSPORT_HEADERS
        )
        for name in headers.keys() & self.headers.keys():
            kind, schema = self.headers[name]
            value: Any = headers[name]
            if kind == "integer" and re.fullmatch("[0-9]+", value):
                value = int(value)
            self._fail_on(f"header {name}: {value}", map(str, schema.iter_errors(value)))

    def check_body(self, media_type: str | None, body: bytes, *, bodiless: bool) -> None:
        """The body has a declared media type and is valid."""
        if bodiless or not self.contents:
            self._fail_on("a body", [str(len(body))] if body else [])
        if not self.contents:
            return
        self._fail_on("undeclared type", {str(media_type)} - self.contents.keys())
        if media_type == "application/json" and not bodiless:
            found = self.contents[media_type].iter_errors(json.loads(body))
            self._fail_on("body", (f"{error.instance_path}: {error.message}" for error in found))

    def _fail_on(self, what: str, problems: Any) -> None:
        if listed := sorted(problems):
            raise SchemaMismatch(f"{self.name}: {what}: {'; '.join(listed)}")


def check_response(
    method: str, target: str, status: int, headers: Mapping[str, str], body: bytes | None
) -> None:
    """Raises SchemaMismatch if the OpenAPI document does not declare the response of a target.

    The body is None when it was not read to its end.
    """
    path = target.partition("?")[0]
    is_page = status < 400 and re.match(r"/api/docs(/|$)", path)  # of the documentation
    if is_page or not re.match(r"/api(/|$)", path):
        return
    response = _response(path_of(target), status)
    response.check_headers(headers)
    if body is not None:
        response.check_body(headers.get("content-type"), body, bodiless=method == "HEAD")


def check_raw_response(request: bytes, response: bytes) -> None:
    """Checks the status and headers in the bytes that were sent back for one request."""
    method, target, _ = request.decode("latin-1").split(" ", 2)
    status, *lines = response.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    check_response(method, target, int(status.split()[1]), headers, body=None)
