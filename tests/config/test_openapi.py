"""GET /api/v1/openapi.json: the OpenAPI document is served, up to date and valid."""

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import call_command
from openapi_spec_validator import OpenAPIV31SpecValidator

from config.api.limits import REQUESTS_PER_MINUTE
from config.api.schema.hooks import OTHER_PATHS
from documents.api.parameters import FILE_TYPES, STATUS_FILTER
from events.models import EventType
from tests.support import openapi
from tests.support.client import get, golden
from tests.support.factories import Tenant
from tests.support.openapi import SCHEMA, Json, SchemaMismatch, resolved
from tests.support.proxy import HOST
from tests.support.server import Server

PATH = "/api/v1/openapi.json"


def test_openapi_json_is_served_without_a_key(acme: Tenant) -> None:
    response = get(PATH)
    assert response.status == 200
    assert response.json() == SCHEMA
    assert response.headers["cache-control"] == "public, max-age=300"
    assert get(PATH, acme.bearer).same() == response.same()
    assert get(PATH, "Bearer dtd_unknown").same() == response.same()


def test_head_has_the_headers_of_get_and_no_body() -> None:
    head = get(PATH, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["etag"] == get(PATH).headers["etag"]


def test_openapi_json_has_conditional_requests() -> None:
    etag = get(PATH).headers["etag"]
    response = get(PATH, if_none_match=f'"other", {etag}')
    assert (response.status, response.body, response.headers["etag"]) == (304, b"", etag)
    assert get(PATH, if_none_match='"other"').status == 200
    assert get(PATH, if_match='"other"').status == 412


def test_openapi_json_is_read_only() -> None:
    response = get(PATH, method="POST")
    assert response.status == 405
    assert response.json() == golden("wrong_method")


def test_openapi_json_does_not_count_toward_the_rate_limit(acme: Tenant) -> None:
    for _ in range(REQUESTS_PER_MINUTE + 1):
        assert get(PATH, acme.bearer).status == 200
    assert acme.get("/me").status == 200


def test_docs_openapi_json_is_up_to_date(tmp_path: Path) -> None:
    """`make openapi` writes it. A warning of the generator is an error."""
    made = tmp_path / "openapi.json"
    call_command(
        "spectacular", format="openapi-json", fail_on_warn=True, validate=True, file=str(made)
    )
    assert made.read_text() == openapi.SCHEMA_FILE.read_text(), "run: make openapi"


def test_openapi_json_is_valid_openapi() -> None:
    assert SCHEMA["openapi"] == "3.1.0"
    assert [str(error) for error in OpenAPIV31SpecValidator(SCHEMA).iter_errors()] == []


def every_response() -> Iterator[tuple[str, Json]]:
    """Each response in the document with its path and status."""
    for path, item in SCHEMA["paths"].items():
        for status, response in item["get"]["responses"].items():
            yield f"{path} {status}", resolved(response)
    for status, response in SCHEMA[OTHER_PATHS].items():
        yield f"any other path {status}", resolved(response)


def references(node: Any) -> Iterator[str]:
    """Every reference below a node."""
    for value in node.values() if isinstance(node, dict) else node:
        if isinstance(value, dict | list):
            yield from references(value)
    if isinstance(node, dict) and "$ref" in node:
        yield node["$ref"]


def test_components_are_all_used() -> None:
    components = {
        f"#/components/{kind}/{name}"
        for kind, named in SCHEMA["components"].items()
        for name in named
        if kind != "securitySchemes"
    }
    assert set(references(SCHEMA)) == components


RESPONSES = dict(every_response())


@pytest.mark.parametrize("name", RESPONSES)
def test_responses_have_a_description_and_valid_examples(name: str) -> None:
    response = RESPONSES[name]
    assert response["description"]
    assert name.endswith(" 304") != bool(response.get("content"))
    for media_type, content in response.get("content", {}).items():
        examples = [example["value"] for example in content["examples"].values()]
        assert examples
        for example in examples:
            problems = openapi.validator(content["schema"]).iter_errors(example)
            assert [f"{media_type}: {problem.message}" for problem in problems] == []


def test_examples_of_400_are_what_the_api_returns(acme: Tenant) -> None:
    requests = {
        "/documents": ["/documents?status=NEW", "/documents?limit=0", "/documents?cursor=x"],
        "/documents/{id}/download": [
            "/documents/00000000-0000-4000-8000-000000000001/download?type=final"
        ],
    }
    for path, targets in requests.items():
        response = SCHEMA["paths"][f"/api/v1{path}"]["get"]["responses"]["400"]
        examples = response["content"]["application/json"]["examples"].values()
        bodies = [example["value"] for example in examples]
        assert bodies == [acme.get(target).json() for target in targets] + [golden("bad_request")]


def test_enums_of_parameters_are_what_the_api_accepts() -> None:
    operations = {path: item["get"] for path, item in SCHEMA["paths"].items()}
    enums = {
        (path.rpartition("/")[2], parameter["name"]): parameter["schema"]["enum"]
        for path, operation in operations.items()
        for parameter in operation.get("parameters", [])
        if "enum" in parameter["schema"]
    }
    assert enums == {
        ("documents", "status"): list(STATUS_FILTER),
        ("download", "type"): list(FILE_TYPES),
        ("events", "type"): EventType.values,
    }


def changed(**changes: Any) -> dict[str, Any]:
    """The arguments of `check_response` for GET /me, some of them changed."""
    body = json.dumps(golden("me")).encode()
    headers = {
        "request-id": "0" * 32,
        "content-type": "application/json",
        "cache-control": "private, no-cache",
        "etag": f'"{"0" * 32}"',
        "vary": "Authorization",
    }
    response = {"method": "GET", "target": "/api/v1/me", "status": 200} | changes
    response["headers"] = headers | changes.get("headers", {})
    return {"body": body} | response


def with_(field: str, value: Any) -> bytes:
    """The body of GET /me with a field of `data.key` set."""
    body = golden("me")
    body["data"]["key"][field] = value
    return json.dumps(body).encode()


MISMATCHES: dict[str, tuple[dict[str, Any], str]] = {
    "a status": ({"status": 418}, "status 418"),
    "a status of another path": ({"status": 404}, "status 404"),
    "a header": ({"headers": {"x-new": "1"}}, "undeclared headers: x-new"),
    "a header's form": ({"headers": {"request-id": "1"}}, "header request-id"),
    "a header's number": ({"headers": {"x-ratelimit-reset": "soon"}}, "header x-ratelimit-reset"),
    "a type of body": ({"headers": {"content-type": "text/html"}}, "type: text/html"),
    "a field": ({"body": with_("secret", "x")}, "'secret' was unexpected"),
    "a field's type": ({"body": with_("name", 1)}, "is not of type"),
    "a field's format": ({"body": with_("id", "1")}, 'is not a "uuid"'),
    "a null": ({"body": with_("name", None)}, "is not of type"),
    "a body of HEAD": ({"method": "HEAD"}, "a body"),
    "another path's body": ({"target": "/api/v1/documents"}, "body: "),
    "a 200 where no path is": ({"target": "/api/v1/you"}, "status 200"),
}


def test_check_response_accepts_a_valid_response() -> None:
    openapi.check_response(**changed())
    openapi.check_response(**changed(target="/api/v1/me?any=1", headers={"date": "today"}))
    openapi.check_response(**changed(method="HEAD", body=b""))
    openapi.check_response(**changed(target="/admin/", status=418, headers={"set-cookie": "a=b"}))


@pytest.mark.parametrize("what", MISMATCHES)
def test_check_response_refuses_what_the_document_does_not_declare(what: str) -> None:
    changes, message = MISMATCHES[what]
    with pytest.raises(SchemaMismatch, match=message):
        openapi.check_response(**changed(**changes))


def test_check_response_refuses_a_missing_header_or_field() -> None:
    response = changed()
    del response["headers"]["request-id"]
    with pytest.raises(SchemaMismatch, match="missing headers: request-id"):
        openapi.check_response(**response)
    with pytest.raises(SchemaMismatch, match="is a required property"):
        openapi.check_response(**changed(body=b'{"data": {}}'))


def test_check_clients_checks_requests_that_tests_make_themselves(server: Server) -> None:
    url = f"http://{HOST}:{server.port}/api/v1/me"
    connection = HTTPConnection(HOST, server.port)
    with pytest.MonkeyPatch.context() as patch, closing(connection):
        patch.setattr(openapi, "_response", openapi._response.__wrapped__)
        patch.delitem(SCHEMA["paths"]["/api/v1/me"]["get"]["responses"], "401")
        with pytest.raises(SchemaMismatch, match="status 401"):
            httpx.get(url)
        connection.request("GET", "/api/v1/me")
        with pytest.raises(SchemaMismatch, match="status 401"):
            connection.getresponse()
        with pytest.raises(SchemaMismatch, match="status 401"):
            server.raw(b"GET /api/v1/me HTTP/1.0\r\nHost: localhost\r\n\r\n")
