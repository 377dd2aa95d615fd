"""What the descriptions of all operations share: headers, and the answers that refuse.

The texts and bodies of refusals are those of the errors table itself (`config.errors`).
"""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)

from apikeys.throttling import REQUESTS_PER_MINUTE, WINDOW
from config import errors
from config.contract import ErrorSerializer, PlanErrorSerializer
from config.errors import ApiError

Responses = dict[Any, OpenApiResponse]

WITH_KEY = (200, 206, 304, 400, 402, 403, 404, 405, 412, 416, 429, 500, 503)

# What each refusal means; the examples say the rest.
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
    errors.DocumentNotComplete: "`signed` and `certificate` exist once everyone has finished.",
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


def header(
    name: str, schema: dict[str, Any], on: Iterable[int], text: str, *, required: bool = True
) -> OpenApiParameter:
    """A header of the answers with one of the statuses `on`."""
    return OpenApiParameter(
        name,
        schema,
        OpenApiParameter.HEADER,
        required=required,
        description=text,
        response=list(on),
    )


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
        " ".join(MEANING[kind] for kind in kinds),
        examples,
    )


REQUEST_ID = header(
    "Request-Id",
    {
        "type": "string",
        "pattern": "^[0-9a-f]{32}$",
        "examples": ["3d8ad524e9ef434789e5940b1121280d"],
    },
    (*WITH_KEY, 401),
    "The request's id. It stands in our log and in the document's audit trail: quote it to "
    "support.",
)
ALLOW = header(
    "Allow", {"type": "string", "const": "GET, HEAD"}, [405], "The methods that the API has."
)
SECONDS = {"type": "integer", "minimum": 1}
LIMITED = "Sent with each answer to a valid key, unless requests cannot be counted at present."

# Of every operation that takes a key.
HEADERS = [
    REQUEST_ID,
    ALLOW,
    header(
        "WWW-Authenticate",
        {"type": "string", "const": "Bearer"},
        [401],
        "The scheme of the `Authorization` header.",
    ),
    header("Retry-After", SECONDS, [429, 503], "Seconds to wait before the next request."),
    header(
        "RateLimit-Policy",
        {"type": "string", "const": f'"key";q={REQUESTS_PER_MINUTE};w={WINDOW}'},
        WITH_KEY,
        f"The limit: `q` requests in `w` seconds. {LIMITED}",
        required=False,
    ),
    header(
        "RateLimit",
        {
            "type": "string",
            "pattern": '^"key";r=[0-9]{1,3};t=[1-9][0-9]?$',
            "examples": ['"key";r=299;t=42'],
        },
        WITH_KEY,
        f"What is left: `r` requests in the next `t` seconds. {LIMITED}",
        required=False,
    ),
    header(
        "X-RateLimit-Limit",
        {"type": "integer", "const": REQUESTS_PER_MINUTE},
        WITH_KEY,
        f"Requests that the key may make in a minute. {LIMITED}",
        required=False,
    ),
    header(
        "X-RateLimit-Remaining",
        {"type": "integer", "minimum": 0, "maximum": REQUESTS_PER_MINUTE},
        WITH_KEY,
        f"Requests that are left of the minute. {LIMITED}",
        required=False,
    ),
    header(
        "X-RateLimit-Reset",
        {"type": "integer", "minimum": 1, "maximum": WINDOW},
        WITH_KEY,
        f"Seconds until the minute ends. {LIMITED}",
        required=False,
    ),
]

other_paths = extend_schema(
    operation_id="other_paths",
    parameters=HEADERS,
    responses=refusals(errors.PathNotFound()),
)
