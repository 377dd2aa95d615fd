"""The answer of GET /me as the API promises it."""

from typing import Any

from rest_framework import serializers


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
