"""The OpenAPI operation of GET /me."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from config.api.schema.headers import JSON_HEADERS
from config.api.schema.operations import IF_NONE_MATCH, json_responses
from workspaces.serializers import Me

EXAMPLE = {
    "data": {
        "workspace": {"id": "7d1c2f4e-90b3-4c0a-8a53-5a1f5f6c0b21", "name": "Acme"},
        "key": {"id": "c9a6e0d3-1b7f-4f0e-9d2c-3e8b7a5d4f60", "name": "Archive sync"},
        "documents": {"draft": 3, "sent": 12, "completed": 148},
    }
}

get_me = extend_schema(
    operation_id="get_me",
    summary="Which workspace and key is this?",
    description="Shows which workspace and key the request uses, with document counts by status. "
    "Use it to check that a key is valid and belongs to the expected workspace.",
    tags=["Workspace"],
    parameters=[IF_NONE_MATCH, *JSON_HEADERS],
    responses=json_responses(Me, "The key's workspace.", [OpenApiExample("Workspace", EXAMPLE)]),
)
