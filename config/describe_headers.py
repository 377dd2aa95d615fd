"""The headers of the answers, as the description of each operation has them."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from apikeys.throttling import REQUESTS_PER_MINUTE, WINDOW

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
LIMITED = (
    "Sent with each answer to a valid key. Absent while the counter is out of reach: requests pass "
    "uncounted then."
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
