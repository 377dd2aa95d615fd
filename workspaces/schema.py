"""What the description of the API says of GET /me."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers

from config.openapi.headers import HEADERS
from config.openapi.operations import refusals


class WorkspaceSerializer(serializers.Serializer[Any]):
    """The workspace that the key belongs to."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class KeySerializer(serializers.Serializer[Any]):
    """The key that the request was made with."""

    id = serializers.UUIDField()
    name = serializers.CharField(help_text="The name given to the key when it was created.")


class CountsSerializer(serializers.Serializer[Any]):
    """How many documents have exactly this status; deleted ones are left out."""

    draft = serializers.IntegerField(min_value=0)
    sent = serializers.IntegerField(min_value=0)
    completed = serializers.IntegerField(min_value=0)


class SummarySerializer(serializers.Serializer[Any]):
    """Which workspace and key a request uses, with document counts by status."""

    workspace = WorkspaceSerializer()
    key = KeySerializer()
    documents = CountsSerializer()


class MeSerializer(serializers.Serializer[Any]):
    """The answer of GET /me."""

    data = SummarySerializer()  # type: ignore[assignment]


EXAMPLE = {
    "data": {
        "workspace": {"id": "7d1c2f4e-90b3-4c0a-8a53-5a1f5f6c0b21", "name": "Acme"},
        "key": {"id": "c9a6e0d3-1b7f-4f0e-9d2c-3e8b7a5d4f60", "name": "Archive sync"},
        "documents": {"draft": 3, "sent": 12, "completed": 148},
    }
}

me = extend_schema(
    operation_id="get_me",
    summary="Which workspace and key is this?",
    description="Shows which workspace and key the request uses, with document counts by status. "
    "Use it to check that a key is valid and belongs to the expected workspace.",
    tags=["Workspace"],
    parameters=HEADERS,
    responses={
        200: OpenApiResponse(
            MeSerializer, "The key's workspace.", [OpenApiExample("Workspace", EXAMPLE)]
        ),
        **refusals(),
    },
)
