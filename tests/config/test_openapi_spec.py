"""The OpenAPI document has what the specification's tables have, field by field.

The tables here are the specification's; what we add to it is marked.
"""

from typing import Any

import pytest
from msgspec.json import schema_components

from config.api.errors import ErrorBody, PlanError
from documents.api.serializers import DocumentAnswer, DocumentPage
from documents.search.parameters import NAMES, SORTS
from events.models import EventType
from events.serializers import EventPage
from tests.support.openapi import SCHEMA, Json, resolved
from workspaces.serializers import Me

PATHS = SCHEMA["paths"]
TIME = ("string", "date-time")
ID = ("string", "uuid")  # the specification says string; that it is a UUID is ours
TEXT = ("string", None)
NUMBER = ("integer", None)

DOCUMENT_STATUS = [
    "DRAFT",
    "SENT",
    "VIEWED",
    "PARTIALLY_SIGNED",
    "COMPLETED",
    "DECLINED",
    "EXPIRED",
    "CANCELLED",
]
RECIPIENT_STATUS = ["PENDING", "SENT", "VIEWED", "SIGNED", "APPROVED", "DECLINED", "BOUNCED"]

# field → (type, nullable); a list is an enum, a name another table, a name in a list an array.
TABLES: dict[str, dict[str, tuple[Any, bool]]] = {
    "WorkspaceDocument": {
        "id": (ID, False),
        "title": (TEXT, False),
        "status": (DOCUMENT_STATUS, False),
        "fileName": (TEXT, False),
        "pageCount": (NUMBER, False),
        "fileSize": (("integer", "int64"), False),
        "signingOrder": (["PARALLEL", "SEQUENTIAL"], False),
        "createdAt": (TIME, False),
        "sentAt": (TIME, True),
        "completedAt": (TIME, True),
        "expiresAt": (TIME, True),
        "progress": ("Progress", False),
        "recipients": ("array of Recipient", False),
        "links": ("Links", False),
    },
    "Progress": {"done": (NUMBER, False), "total": (NUMBER, False)},
    "Links": {"self": (TEXT, False), "download": (TEXT, False)},
    "Recipient": {
        "id": (ID, False),
        "name": (TEXT, False),
        "email": (TEXT, False),
        "role": (["SIGNER", "APPROVER", "CC", "VIEWER"], False),
        "status": (RECIPIENT_STATUS, False),
        "order": (NUMBER, False),
        "sentAt": (TIME, True),
        "viewedAt": (TIME, True),
        "completedAt": (TIME, True),
        "declinedAt": (TIME, True),
        "declineReason": (TEXT, True),
    },
    "ErrorBody": {"error": (TEXT, False)},
    "PlanError": {"error": (TEXT, False), "details": ("PlanDetails", False)},
    "PlanDetails": {
        "code": (["plan_limit"], False),
        "upgrade": (TEXT, True),
        "href": (TEXT, False),
    },
    "Me": {"data": ("Summary", False)},
    "Summary": {
        "workspace": ("Workspace", False),
        "key": ("Key", False),
        "documents": ("Counts", False),
    },
    "Workspace": {"id": (ID, False), "name": (TEXT, False)},
    "Key": {"id": (ID, False), "name": (TEXT, False)},
    "Counts": {"draft": (NUMBER, False), "sent": (NUMBER, False), "completed": (NUMBER, False)},
    "DocumentPage": {"data": ("array of WorkspaceDocument", False), "nextCursor": (TEXT, True)},
    "DocumentAnswer": {"data": ("WorkspaceDocument", False)},
    # Ours: the specification names webhooks' `document.completed`, with the document's identifier.
    "EventPage": {"data": ("array of DocumentEvent", False), "nextCursor": (TEXT, False)},
    "DocumentEvent": {
        "id": (TEXT, False),
        "type": (TEXT, False),
        "timestamp": (TIME, False),
        "data": ("EventData", False),
    },
    "EventData": {"id": (ID, False), "status": (TEXT, False)},
}


def name_of(schema: Json) -> str:
    """The component that a schema is a reference to."""
    return str(schema["$ref"].rpartition("/")[2])


def field(schema: Json) -> tuple[Any, bool]:
    """A field's schema as the tables have it."""
    [target] = schema.get("allOf", [schema])
    if "$ref" in target:
        values = resolved(target).get("enum")
        return values or name_of(target), False
    kind = target["type"]
    if kind == "array":
        return f"array of {name_of(target['items'])}", False
    nullable = isinstance(kind, list)
    if nullable:
        [kind] = set(kind) - {"null"}
    return (kind, target.get("format")), nullable


@pytest.mark.parametrize("name", TABLES)
def test_fields_are_those_of_the_table_in_its_order(name: str) -> None:
    schema = SCHEMA["components"]["schemas"][name]
    fields = {key: field(value) for key, value in schema["properties"].items()}
    assert list(fields.items()) == list(TABLES[name].items())
    assert set(schema["required"]) == set(fields)  # a field may be null, but is never absent


STRUCTS = (DocumentAnswer, DocumentPage, ErrorBody, EventPage, Me, PlanError)
_, COMPONENTS = schema_components(STRUCTS, ref_template="#/components/schemas/{name}")


def kind(schema: Json) -> tuple[str, bool]:
    """A field's type, and whether it may be null; structs have no formats and no enums."""
    if "anyOf" in schema:  # msgspec's form of a type or null
        return kind(schema["anyOf"][0])[0], True
    found, nullable = field(schema)
    if isinstance(found, list):
        return "string", nullable
    return found[0] if isinstance(found, tuple) else found, nullable


@pytest.mark.parametrize("name", TABLES)
def test_fields_are_those_of_the_struct(name: str) -> None:
    documented, encoded = (
        {key: kind(value) for key, value in components[name]["properties"].items()}
        for components in (SCHEMA["components"]["schemas"], COMPONENTS)
    )
    assert list(documented.items()) == list(encoded.items())


# path → query and path parameters, in the specification's order: (name, place, required, schema).
STATUS_FILTER = ["DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED"]
TEXT_OF = {"type": "string"}
ONE_STATUS = {"type": "string", "enum": DOCUMENT_STATUS}
DOCUMENT_ID = ("id", "path", True, {"type": "string", "format": "uuid"})
PARAMETERS: dict[str, list[tuple[str, str, bool, Json]]] = {
    "/api/v1/me": [],
    "/api/v1/documents": [
        ("status", "query", False, {"type": "string", "enum": STATUS_FILTER}),
        ("limit", "query", False, {"type": "integer", "minimum": 1, "maximum": 100, "default": 25}),
        ("cursor", "query", False, {"type": "string", "minLength": 1}),
    ],
    "/api/v1/documents/{id}": [DOCUMENT_ID],
    "/api/v1/documents/{id}/download": [
        DOCUMENT_ID,
        (
            "type",
            "query",
            False,
            {"type": "string", "enum": ["signed", "original", "certificate"]},
        ),
    ],
    "/api/v1/search": [  # ours, as all of it
        (
            "status",
            "query",
            False,
            {"type": "array", "items": {**TEXT_OF, "enum": DOCUMENT_STATUS}},
        ),
        *((name, "query", False, TEXT_OF) for name in NAMES if name.endswith(("From", "Before"))),
        ("recipient", "query", False, {**TEXT_OF, "minLength": 1, "maxLength": 254}),
        ("recipientStatus", "query", False, {**TEXT_OF, "enum": RECIPIENT_STATUS}),
        ("title", "query", False, {**TEXT_OF, "minLength": 1, "maxLength": 254}),
        ("sort", "query", False, {**TEXT_OF, "enum": list(SORTS), "default": SORTS[0]}),
        ("limit", "query", False, {"type": "integer", "minimum": 1, "maximum": 100, "default": 25}),
        ("cursor", "query", False, {"type": "string", "minLength": 1}),
    ],
    "/api/v1/events": [
        ("after", "query", False, {"type": "string", "minLength": 1}),
        ("type", "query", False, {"type": "string", "enum": EventType.values}),
        ("limit", "query", False, {"type": "integer", "minimum": 1, "maximum": 100, "default": 25}),
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
    "/api/v1/documents/{id}/download": (
        "a PDF",
        [401, 402, 403, 404, 429],
        [*OURS, 206, 416],
    ),
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
