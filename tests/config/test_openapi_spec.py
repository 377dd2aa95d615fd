"""The OpenAPI document has what the specification's tables have, field by field.

The tables here are the specification's; what we add to it is marked.
"""

import pytest
from msgspec.json import schema_components

from documents.api.objects import DocumentAnswer, DocumentPage
from documents.search.parameters import NAMES, SORTS
from events.models import EventType
from events.serializers import EventPage
from tests.support.openapi import SCHEMA, Json, resolved
from workspaces.serializers import Me

PATHS = SCHEMA["paths"]
STATUS_FILTER = ["DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED"]
DOCUMENT_STATUS = ["DRAFT", "SENT", "VIEWED", "PARTIALLY_SIGNED", "COMPLETED", "DECLINED"]
DOCUMENT_STATUS += ["EXPIRED", "CANCELLED"]
RECIPIENT_STATUS = ["PENDING", "SENT", "VIEWED", "SIGNED", "APPROVED", "DECLINED", "BOUNCED"]


def name_of(schema: Json) -> str:
    return str(schema["$ref"].rpartition("/")[2])


STRUCTS = (DocumentAnswer, DocumentPage, EventPage, Me)
_, COMPONENTS = schema_components(STRUCTS, ref_template="#/components/schemas/{name}")
# The bodies of errors are no structs: their fields are texts, one of them nullable.
ERRORS: dict[str, dict[str, tuple[str, bool]]] = {
    "ErrorBody": {"error": ("string", False)},
    "PlanError": {"error": ("string", False), "details": ("PlanDetails", False)},
    "PlanDetails": {
        "code": ("string", False),
        "upgrade": ("string", True),
        "href": ("string", False),
    },
}


def kind(schema: Json) -> tuple[str, bool]:
    """A field's type or component, and whether it may be null."""
    if "anyOf" in schema:  # msgspec's form of a type or null
        return kind(schema["anyOf"][0])[0], True
    [target] = schema.get("allOf", [schema])
    if "$ref" in target:
        return ("string" if "enum" in resolved(target) else name_of(target)), False
    if target["type"] == "array":
        return f"array of {name_of(target['items'])}", False
    if isinstance(target["type"], list):
        [only] = set(target["type"]) - {"null"}
        return only, True
    return target["type"], False


def kinds(schema: Json) -> dict[str, tuple[str, bool]]:
    return {name: kind(value) for name, value in schema["properties"].items()}


@pytest.mark.parametrize("name", [*COMPONENTS, *ERRORS])
def test_fields_are_those_of_the_responses_in_their_order(name: str) -> None:
    documented = SCHEMA["components"]["schemas"][name]
    encoded = ERRORS.get(name) or kinds(COMPONENTS[name])
    assert list(kinds(documented).items()) == list(encoded.items())
    assert set(documented["required"]) == set(encoded)  # it may be null, but is never absent


@pytest.mark.parametrize(
    ("name", "field", "values"),
    [
        ("WorkspaceDocument", "status", DOCUMENT_STATUS),
        ("WorkspaceDocument", "signingOrder", ["PARALLEL", "SEQUENTIAL"]),
        ("Recipient", "role", ["SIGNER", "APPROVER", "CC", "VIEWER"]),
        ("Recipient", "status", RECIPIENT_STATUS),
        ("PlanDetails", "code", ["plan_limit"]),
    ],
)
def test_values_are_those_of_the_specification(name: str, field: str, values: list[str]) -> None:
    schema = SCHEMA["components"]["schemas"][name]["properties"][field]
    [target] = schema.get("allOf", [schema])
    assert resolved(target)["enum"] == values


# path → query and path parameters, in the specification's order: (name, place, required, schema).
TEXT_OF = {"type": "string"}
ONE_STATUS = {"type": "string", "enum": DOCUMENT_STATUS}
LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 25}
CURSOR = ("cursor", "query", False, {"type": "string", "minLength": 1})
DOCUMENT_ID = ("id", "path", True, {"type": "string", "format": "uuid"})
PARAMETERS: dict[str, list[tuple[str, str, bool, Json]]] = {
    "/api/v1/me": [],
    "/api/v1/documents": [
        ("status", "query", False, {"type": "string", "enum": STATUS_FILTER}),
        ("limit", "query", False, LIMIT),
        CURSOR,
    ],
    "/api/v1/documents/{id}": [DOCUMENT_ID],
    "/api/v1/documents/{id}/download": [
        DOCUMENT_ID,
        ("type", "query", False, {**TEXT_OF, "enum": ["signed", "original", "certificate"]}),
    ],
    "/api/v1/search": [  # ours, as all of it
        ("status", "query", False, {"type": "array", "items": ONE_STATUS}),
        *((name, "query", False, TEXT_OF) for name in NAMES if name.endswith(("From", "Before"))),
        ("recipient", "query", False, {**TEXT_OF, "minLength": 1, "maxLength": 254}),
        ("recipientStatus", "query", False, {**TEXT_OF, "enum": RECIPIENT_STATUS}),
        ("title", "query", False, {**TEXT_OF, "minLength": 1, "maxLength": 254}),
        ("sort", "query", False, {**TEXT_OF, "enum": list(SORTS), "default": SORTS[0]}),
        ("limit", "query", False, LIMIT),
        CURSOR,
    ],
    "/api/v1/events": [
        ("after", "query", False, {"type": "string", "minLength": 1}),
        ("type", "query", False, {"type": "string", "enum": EventType.values}),
        ("limit", "query", False, LIMIT),
    ],
}


@pytest.mark.parametrize("path", PARAMETERS)
def test_parameters_are_those_of_the_table(path: str) -> None:
    parameters = [
        (each["name"], each["in"], each.get("required", False), each["schema"])
        for each in PATHS[path]["get"].get("parameters", [])
    ]
    of_paths_and_queries = [each for each in parameters if each[1] != "header"]
    assert of_paths_and_queries == PARAMETERS[path]


# path → the body of 200, the specification's other statuses, and ours.
OURS = [304, 400, 405, 412, 500, 503]
STATUSES: dict[str, tuple[str, list[int], list[int]]] = {
    "/api/v1/me": ("Me", [401, 402, 403, 429], OURS),
    "/api/v1/documents": ("DocumentPage", [400, 401, 402, 403, 429], OURS),
    "/api/v1/search": ("DocumentPage", [400, 401, 402, 403, 429], OURS),
    "/api/v1/documents/{id}": ("DocumentAnswer", [401, 402, 403, 404, 429], OURS),
    "/api/v1/documents/{id}/download": ("a PDF", [401, 402, 403, 404, 429], [*OURS, 206, 409, 416]),
    "/api/v1/events": ("EventPage", [400, 401, 402, 403, 429], [*OURS, 410]),
}


@pytest.mark.parametrize("path", STATUSES)
def test_statuses_are_those_of_the_table(path: str) -> None:
    body, statuses, ours = STATUSES[path]
    responses = {
        int(key): resolved(value) for key, value in PATHS[path]["get"]["responses"].items()
    }
    assert set(responses) == {200, *statuses, *ours}
    for status, response in responses.items():
        content = response.get("content", {})
        if status == 304:
            assert content == {}
        elif status in (200, 206) and body == "a PDF":
            binary = {"type": "string", "format": "binary"}
            assert {kind: each["schema"] for kind, each in content.items()} == {
                "application/pdf": binary
            }
        else:
            expected = body if status == 200 else "PlanError" if status == 402 else "ErrorBody"
            assert list(content) == ["application/json"]
            assert name_of(content["application/json"]["schema"]) == expected


def test_operations_are_gets_with_a_bearer_key() -> None:
    assert set(PATHS) == {*STATUSES, "/api/v1/openapi.json"}
    assert {method for item in PATHS.values() for method in item} == {"get"}
    for path in STATUSES:
        assert PATHS[path]["get"]["security"] == [{"key": []}]
    assert PATHS["/api/v1/openapi.json"]["get"]["security"] == []
    key = SCHEMA["components"]["securitySchemes"]["key"]
    assert (key["type"], key["scheme"]) == ("http", "bearer")
    assert key["bearerFormat"] == "dtd_…"


def test_version_and_limits_are_those_of_the_specification() -> None:
    assert SCHEMA["info"]["version"] == "1.0.0"
    headers = SCHEMA["components"]["headers"]
    assert headers["RateLimit-Policy"]["schema"]["const"] == '"key";q=300;w=60'
    assert headers["X-RateLimit-Limit"]["schema"]["const"] == 300
    assert "300 requests a minute" in SCHEMA["info"]["description"]
