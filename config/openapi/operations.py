"""What the descriptions of all operations share: parameters, and the answers that refuse.

The texts and bodies of refusals are those of the errors table itself (`config.api.errors`).
"""

from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)
from rest_framework import serializers

from config.api import errors
from config.api.errors import ApiError
from config.api.limits import REQUESTS_PER_MINUTE
from config.openapi.headers import HEADERS


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


Responses = dict[Any, OpenApiResponse]

# What each refusal means; the examples say the rest. Those of one status are joined by "Or".
MEANING: dict[type[ApiError], str] = {
    errors.InvalidParameter: "A query parameter is not valid: the text names it and says what it "
    "takes.",
    errors.InvalidRequest: "The request as a whole is not valid.",
    errors.InvalidKey: "There is no valid key: no header or a malformed one, or a key that is "
    "unknown, revoked or deleted. The answer is the same for all of these.",
    errors.PlanRequired: "The key is valid, but its workspace's plan does not include the API. "
    "The key works again after a move to Pro or Business.",
    errors.WorkspaceSuspended: "The workspace is suspended; its keys are refused.",
    errors.DocumentNotFound: "The document is unknown, deleted, or another workspace's. The "
    "answer is the same for all of these.",
    errors.DocumentNotComplete: "`signed` or `certificate` was asked for before everyone has "
    "finished.",
    errors.PathNotFound: "The API has no such path.",
    errors.MethodNotAllowed: "The API only reads: the method is neither GET nor HEAD.",
    errors.PreconditionFailed: "The file is not the version that `If-Match` or "
    "`If-Unmodified-Since` names.",
    errors.RangeNotSatisfiable: "The file has none of the bytes that `Range` asks for; "
    "`Content-Range` says how many it has.",
    errors.TooManyRequests: f"The key has made more than {REQUESTS_PER_MINUTE} requests in its "
    "minute. The text and `Retry-After` say how many seconds to wait.",
    errors.ServerError: "Something went wrong on our side. Quote `Request-Id` to support.",
    errors.Unavailable: "The service cannot be reached right now; `Retry-After` says how many "
    "seconds to wait.",
}


def query(name: str, schema: dict[str, Any], text: str) -> OpenApiParameter:
    """An optional query parameter; empty or given twice it is not valid."""
    return OpenApiParameter(name, schema, OpenApiParameter.QUERY, description=text)


def condition(name: str, text: str, **examples: str) -> OpenApiParameter:
    """A request header of HTTP's own (RFC 9110); examples by name."""
    shown = [OpenApiExample(name, value) for name, value in examples.items()]
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text, examples=shown)


def refusals(*further: ApiError) -> Responses:
    """The refusals that any operation with a key can answer with, and further ones.

    Args:
        further: refusals of this operation; those with a status in common share a description.
    """
    return answers(
        *further,
        errors.InvalidRequest(),
        errors.InvalidKey(),
        errors.PlanRequired(upgrade="Pro"),
        errors.PlanRequired(upgrade=None),
        errors.WorkspaceSuspended(),
        errors.MethodNotAllowed(),
        errors.TooManyRequests(REQUESTS_PER_MINUTE, seconds=42),
        errors.ServerError(),
        errors.Unavailable(),
    )


def answers(*refused: ApiError) -> Responses:
    """The description of each of these refusals, by status."""
    by_status: dict[int, list[ApiError]] = {}
    for error in refused:
        by_status.setdefault(error.status_code, []).append(error)
    return {status: _answer(by_status[status]) for status in sorted(by_status)}


def _answer(same_status: list[ApiError]) -> OpenApiResponse:
    kinds: dict[type[ApiError], int] = {}
    examples = []
    for error in same_status:
        kinds[type(error)] = number = kinds.get(type(error), 0) + 1
        name = type(error).__name__ + (str(number) if number > 1 else "")
        examples.append(OpenApiExample(name, error.body))
    return OpenApiResponse(
        PlanErrorSerializer if errors.PlanRequired in kinds else ErrorSerializer,
        _either([MEANING[kind] for kind in kinds]),
        examples,
    )


def _either(meanings: list[str]) -> str:
    """One text for causes of which one applies."""
    first, *others = meanings
    return " ".join([first, *(f"Or {other[:1].lower()}{other[1:]}" for other in others)])


# Of `config.api.viewsets.UnknownPath`.
other_paths = extend_schema(
    operation_id="other_paths",
    parameters=HEADERS,
    responses=refusals(errors.PathNotFound()),
)
