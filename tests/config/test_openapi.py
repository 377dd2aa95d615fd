"""GET /api/v1/openapi.json: the OpenAPI document is served, valid, and true of the code."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import to_builtins
from openapi_spec_validator import OpenAPIV31SpecValidator

from apikeys.throttling import REQUESTS_PER_MINUTE, WINDOW
from config.api import errors
from documents.api.objects import Links
from tests.support import openapi
from tests.support.cast import counted
from tests.support.client import api_settings, get, golden
from tests.support.factories import Tenant
from tests.support.openapi import OTHER_PATHS, SCHEMA, Json, SchemaMismatch, resolved

PATH = "/api/v1/openapi.json"


def test_openapi_json_is_served_without_a_key(acme: Tenant) -> None:
    response = get(PATH)
    assert response.status == 200
    assert response.json() == SCHEMA
    assert response.headers["cache-control"] == "public, max-age=300"
    assert get(PATH, acme.bearer).same() == response.same()
    assert get(PATH, "Bearer dtd_unknown").same() == response.same()


def test_openapi_json_has_conditional_requests_and_no_other_method() -> None:
    etag = get(PATH).headers["etag"]
    head = get(PATH, method="HEAD")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", etag)
    response = get(PATH, if_none_match=f'"other", {etag}')
    assert (response.status, response.body, response.headers["etag"]) == (304, b"", etag)
    assert get(PATH, if_none_match='"other"').status == 200
    assert get(PATH, if_match='"other"').status == 412
    assert get(PATH, method="POST").json() == golden("wrong_method")


def test_openapi_json_does_not_count_toward_the_rate_limit(acme: Tenant) -> None:
    acme = counted(acme, 10)
    assert get(PATH, acme.bearer).status == 200
    assert acme.get("/me").headers["x-ratelimit-remaining"] == "289"


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


RESPONSES = dict(every_response())


def test_responses_have_a_description_and_valid_examples() -> None:
    for name, response in RESPONSES.items():
        assert response["description"], name
        assert name.endswith(" 304") != bool(response.get("content"))
        for media_type, content in response.get("content", {}).items():
            examples = [example["value"] for example in content["examples"].values()]
            assert examples, name
            for example in examples:
                problems = openapi.validator(content["schema"]).iter_errors(example)
                assert [f"{name} {media_type}: {each.message}" for each in problems] == []


def test_examples_of_400_are_what_the_api_returns(acme: Tenant) -> None:
    requests = {
        "/documents": ["/documents?status=NEW", "/documents?limit=0", "/documents?cursor=x"],
        "/documents/{id}/download": [
            "/documents/00000000-0000-4000-8000-000000000001/download?type=final"
        ],
        "/search": ["/search?status=NEW", "/search?limit=0", "/search?cursor=x"],
        "/events": ["/events?after=x", "/events?type=x", "/events?limit=0"],
    }
    for path, targets in requests.items():
        response = SCHEMA["paths"][f"/api/v1{path}"]["get"]["responses"]["400"]
        examples = response["content"]["application/json"]["examples"].values()
        bodies = [example["value"] for example in examples]
        assert bodies == [acme.get(target).json() for target in targets] + [golden("bad_request")]


def test_examples_of_errors_are_their_bodies() -> None:
    shown = {
        "PlanRequired": errors.PlanRequired(upgrade="Pro"),
        "PlanRequired2": errors.PlanRequired(upgrade=None),
        "RangeNotSatisfiable": errors.RangeNotSatisfiable(48213),
        "TooManyRequests": errors.TooManyRequests(REQUESTS_PER_MINUTE, 42),
    }
    of_nginx = {"Busy": "busy", "TooManyDownloads": "too_many_downloads"}
    for where, response in RESPONSES.items():
        content = response.get("content", {}).get("application/json", {"examples": {}})
        for name, example in content["examples"].items():
            if where[-3:] < "400" or name.startswith("InvalidParameter"):  # as above
                continue
            if name in of_nginx:
                assert example["value"] == golden(of_nginx[name])
                continue
            error = shown.get(name) or getattr(errors, name)()
            assert example["value"] == to_builtins(error.body), name
            assert where.endswith(f" {error.status_code}")


def test_paths_are_all_routes_of_the_api() -> None:
    urls = api_settings()["ROOT_URLCONF"].urlpatterns
    routes = [re.sub(r"<str:(\w+)>", r"{\1}", f"/{each.pattern}") for each in urls]
    assert [each for each in routes if each.startswith("/api/v1/")] == list(SCHEMA["paths"])


OPERATIONS = {path.rpartition("/")[2]: item["get"] for path, item in SCHEMA["paths"].items()}
HEADERS = {name: header["schema"] for name, header in SCHEMA["components"]["headers"].items()}
DOCUMENT = resolved(OPERATIONS["{id}"]["responses"]["200"])["content"]["application/json"]
EXAMPLE = DOCUMENT["examples"]["Document"]["value"]["data"]

# What the document has, and what the code has.
CONSTANTS: dict[str, tuple[Any, Any]] = {
    "requests left": (HEADERS["X-RateLimit-Remaining"]["maximum"], REQUESTS_PER_MINUTE),
    "seconds left": (HEADERS["X-RateLimit-Reset"]["maximum"], WINDOW),
    "links": (EXAMPLE["links"], to_builtins(Links(*EXAMPLE["links"].values()))),
}


def test_values_are_those_of_the_code() -> None:
    for what, (documented, constant) in CONSTANTS.items():
        assert documented == constant, what


# What is changed in the response to GET /me, and what is said of it.
MISMATCHES: list[tuple[dict[str, Any], str]] = [
    ({"status": 404}, "status 404"),  # of another path
    ({"headers": {"x-new": "1"}}, "undeclared headers: x-new"),
    ({"headers": {"content-type": "text/html"}}, "type: text/html"),
    ({"body": {**golden("me"), "more": 1}}, "'more' was unexpected"),
    ({"body": {"data": {}}}, "is a required property"),
    ({"method": "HEAD"}, "a body"),
]


def test_check_response_refuses_what_the_document_does_not_declare(acme: Tenant) -> None:
    response = acme.get("/me")

    def check(**changes: Any) -> None:
        sent: dict[str, Any] = {"method": "GET", "target": "/api/v1/me", "status": 200, **changes}
        sent["headers"] = response.headers | changes.get("headers", {})
        sent["body"] = json.dumps(sent.get("body", response.json())).encode()
        openapi.check_response(**sent)

    check(target="/api/v1/me?any=1", headers={"date": "today"})
    check(target="/admin/", status=418, headers={"set-cookie": "a=b"})
    for changes, message in MISMATCHES:
        with pytest.raises(SchemaMismatch, match=message):
            check(**changes)
    del response.headers["request-id"]
    with pytest.raises(SchemaMismatch, match="missing headers: request-id"):
        check()
