"""What the operations in the OpenAPI document share: parameters and error responses.

The descriptions and bodies of error responses are those of `config.api.errors`.
"""

from inspect import getdoc
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from msgspec import Struct, to_builtins

from config.api import errors
from config.api.errors import ApiError
from config.api.limits import REQUESTS_PER_MINUTE
from config.api.parameters import LIMIT_DEFAULT, LIMIT_MAX
from config.api.schema.headers import HEADERS, JSON_ETAG

Responses = dict[Any, OpenApiResponse]


def query(name: str, schema: dict[str, Any], text: str) -> OpenApiParameter:
    """An optional query parameter; empty or given twice it is not valid."""
    return OpenApiParameter(name, schema, OpenApiParameter.QUERY, description=text)


def limit(objects: str) -> OpenApiParameter:
    """The parameter `limit` of a list of these objects."""
    schema = {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT}
    return query("limit", schema, f"The maximum number of {objects} on a page.")


def request_header(name: str, text: str, **examples: str) -> OpenApiParameter:
    """A request header of HTTP's own (RFC 9110); examples by name."""
    shown = [OpenApiExample(name, value) for name, value in examples.items()]
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text, examples=shown)


IF_NONE_MATCH = request_header(
    "If-None-Match",
    "`ETag`s that the client has; 304 if the response's is one of them.",
    ETag=JSON_ETAG,
    Any="*",
)


def json_responses(
    body: type[Struct], text: str, examples: list[OpenApiExample], *further: ApiError
) -> Responses:
    """The responses of an operation that returns JSON.

    Args:
        text: what it returns.
        further: errors of this operation only.
    """
    return {
        200: OpenApiResponse(body, text, examples),
        304: OpenApiResponse(None, "The client has this response already."),
        **error_responses(*further, errors.PreconditionFailed()),
    }


def error_responses(*further: ApiError) -> Responses:
    """The error responses of an operation that needs a key.

    Args:
        further: errors of this operation only.
    """
    return responses_of(
        *further,
        errors.InvalidRequest(),
        errors.InvalidKey(),
        errors.PlanRequired(upgrade="Pro"),
        errors.PlanRequired(upgrade=None),
        errors.WorkspaceSuspended(),
        errors.HttpsRequired(),
        errors.MethodNotAllowed(),
        errors.TooManyRequests(REQUESTS_PER_MINUTE, seconds=42),
        errors.ServerError(),
        errors.Unavailable(),
        errors.Busy(),
    )


def responses_of(*shown: ApiError) -> Responses:
    """The responses with these errors; those with one status share a response."""
    by_status: dict[int, list[ApiError]] = {}
    for error in shown:
        by_status.setdefault(error.status_code, []).append(error)
    return {status: _response(by_status[status]) for status in sorted(by_status)}


def _response(same_status: list[ApiError]) -> OpenApiResponse:
    kinds: dict[type[ApiError], int] = {}
    examples = []
    for error in same_status:
        kinds[type(error)] = number = kinds.get(type(error), 0) + 1
        name = type(error).__name__ + (str(number) if number > 1 else "")
        examples.append(OpenApiExample(name, to_builtins(error.body)))
    return OpenApiResponse(type(same_status[0].body), _either(*map(_meaning, kinds)), examples)


def _meaning(kind: type[ApiError]) -> str:
    return (getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")


def _either(first: str, *others: str) -> str:
    """One text for several causes."""
    return " ".join([first, *(f"Or {other[:1].lower()}{other[1:]}" for other in others)])


# Of `config.api.viewsets.UnknownPath`.
other_paths = extend_schema(
    operation_id="other_paths", parameters=HEADERS, responses=error_responses(errors.PathNotFound())
)
