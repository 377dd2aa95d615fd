"""The headers of the answers, as the description of each operation has them."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from config.api.limits import REQUESTS_PER_MINUTE, WINDOW

WITH_KEY = (200, 206, 304, 400, 402, 403, 404, 405, 412, 416, 429, 500, 503)


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


def _limit(name: str, schema: dict[str, Any], text: str) -> OpenApiParameter:
    """A header that says something of the rate limit."""
    return header(
        name,
        schema,
        WITH_KEY,
        f"{text} Sent with each answer to a valid key. Absent while the counter is out of reach: "
        "requests pass uncounted then.",
        required=False,
    )


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
    _limit(
        "RateLimit-Policy",
        {"type": "string", "const": f'"key";q={REQUESTS_PER_MINUTE};w={WINDOW}'},
        "The limit: `q` requests in `w` seconds.",
    ),
    _limit(
        "RateLimit",
        {
            "type": "string",
            "pattern": '^"key";r=[0-9]{1,3};t=[1-9][0-9]?$',
            "examples": ['"key";r=299;t=42'],
        },
        "What is left: `r` requests in the next `t` seconds.",
    ),
    _limit(
        "X-RateLimit-Limit",
        {"type": "integer", "const": REQUESTS_PER_MINUTE},
        "Requests that the key may make in a minute.",
    ),
    _limit(
        "X-RateLimit-Remaining",
        {"type": "integer", "minimum": 0, "maximum": REQUESTS_PER_MINUTE},
        "Requests that are left of the minute.",
    ),
    _limit(
        "X-RateLimit-Reset",
        {"type": "integer", "minimum": 1, "maximum": WINDOW},
        "Seconds until the minute ends.",
    ),
]
