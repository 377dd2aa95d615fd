"""The bodies of errors as the API promises them."""

from typing import Any

from rest_framework import serializers


class ErrorSerializer(serializers.Serializer[Any]):
    """Why a request was not answered."""

    error = serializers.CharField(help_text="A plain sentence for people.")


class PlanDetailsSerializer(serializers.Serializer[Any]):
    """What a workspace without the API can do about it."""

    code = serializers.ChoiceField(["plan_limit"])
    upgrade = serializers.CharField(
        allow_null=True, help_text="The plan to move to; null when none is offered."
    )
    href = serializers.CharField(help_text="Where a workspace admin can upgrade.")


class PlanErrorSerializer(ErrorSerializer):
    """The workspace's plan does not include the API."""

    details = PlanDetailsSerializer()
