"""The response headers in the OpenAPI document."""

from collections.abc import Iterable, Iterator
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from config.api.errors import ApiError
from config.api.limits import REQUESTS_PER_MINUTE, WINDOW
from config.api.responses import NOT_STORED, REVALIDATED

Schema = dict[str, Any]

ERRORS = (400, 401, 402, 403, 404, 405, 410, 412, 416, 429, 500, 503)
JSON_ETAG = '"826aed33508f886a3b5bffa1989ce707"'  # as an example
FILE = (200, 206, 304)  # the statuses of responses about a file
# The statuses of responses to a request with a valid key.
WITH_KEY = tuple(status for status in (*FILE, *ERRORS) if status != 401)


def header(
    name: str, schema: Schema, statuses: Iterable[int], text: str, *, required: bool = True
) -> OpenApiParameter:
    """A header of the responses with one of these statuses."""
    return OpenApiParameter(
        name,
        schema,
        OpenApiParameter.HEADER,
        required=required,
        description=text,
        response=list(statuses),
    )


def constant(value: str) -> Schema:
    """The schema of a header that always has this value."""
    return {"type": "string", "const": value}


def pattern(regex: str, *examples: str) -> Schema:
    """The schema of a header that matches a regular expression."""
    schema: Schema = {"type": "string", "pattern": regex}
    return schema | {"examples": list(examples)} if examples else schema


def integer(**constraints: int) -> Schema:
    """The schema of a whole number."""
    return {"type": "integer", **constraints}


def _limit(name: str, schema: Schema, text: str) -> OpenApiParameter:
    """A header about the rate limit."""
    text += (
        " Sent with every response to a valid key. Absent while the counter is unavailable: "
        "requests are not counted then."
    )
    return header(name, schema, WITH_KEY, text, required=False)


REQUEST_ID = header(
    "Request-Id",
    pattern("^[0-9a-f]{32}$", "3d8ad524e9ef434789e5940b1121280d"),
    (*WITH_KEY, 401),
    "The request's id. It is in our log and in the document's audit log: quote it to support.",
)
ALLOW = header("Allow", constant("GET, HEAD"), [405], "The methods that the API supports.")


def error_codes(base: type[ApiError] = ApiError) -> Iterator[str]:
    """The words for errors, in the order of the errors table."""
    for kind in base.__subclasses__():
        yield kind.code
        yield from error_codes(kind)


ERROR_CODE = header(
    "Error-Code",
    {"type": "string", "enum": list(error_codes())},
    ERRORS,
    "One word for the error, for programs. A word never changes its meaning; later versions may "
    "add others.",
)
NOT_STORED_ERRORS = header(
    "Cache-Control", constant(NOT_STORED["Cache-Control"]), ERRORS, "No cache may store an error."
)


def revalidated(statuses: Iterable[int]) -> OpenApiParameter:
    """`Cache-Control` of what a client may keep."""
    return header(
        "Cache-Control",
        constant(REVALIDATED["Cache-Control"]),
        statuses,
        "A copy may be kept by this client only, and must be revalidated before it is used again.",
    )


def vary(statuses: Iterable[int]) -> OpenApiParameter:
    """`Vary` of all that a key is needed for, and of errors."""
    return header(
        "Vary", constant(NOT_STORED["Vary"]), statuses, "The response depends on the request's key."
    )


# Of every operation that needs a key.
HEADERS = [
    REQUEST_ID,
    ERROR_CODE,
    ALLOW,
    NOT_STORED_ERRORS,
    vary((*FILE, *ERRORS)),
    header(
        "WWW-Authenticate", constant("Bearer"), [401], "The scheme of the `Authorization` header."
    ),
    header(
        "Retry-After", integer(minimum=1), [429, 503], "Seconds to wait before the next request."
    ),
    _limit(
        "RateLimit-Policy",
        constant(f'"key";q={REQUESTS_PER_MINUTE};w={WINDOW}'),
        "The limit: `q` requests in `w` seconds.",
    ),
    _limit(
        "RateLimit",
        pattern('^"key";r=[0-9]{1,3};t=[1-9][0-9]?$', '"key";r=299;t=42'),
        "What is left: `r` requests in the next `t` seconds.",
    ),
    _limit(
        "X-RateLimit-Limit",
        integer(const=REQUESTS_PER_MINUTE),
        "Requests that the key may make in a minute.",
    ),
    _limit(
        "X-RateLimit-Remaining",
        integer(minimum=0, maximum=REQUESTS_PER_MINUTE),
        "Requests that are left in this minute.",
    ),
    _limit(
        "X-RateLimit-Reset", integer(minimum=1, maximum=WINDOW), "Seconds until the minute ends."
    ),
]
# Of those that respond with JSON.
JSON_HEADERS = [
    *HEADERS,
    revalidated((200, 304)),
    header(
        "ETag",
        pattern('^(W/)?"[0-9a-f]{32}"$', JSON_ETAG),
        (200, 304),
        "A hash of the body: a changed response has another one. That of a compressed response is "
        "weak (`W/`). Send it back in `If-None-Match`.",
    ),
]
LINK = header(
    "Link",
    pattern('^<[^>]+>; rel="next"$', '</api/v1/documents?limit=25&cursor=…>; rel="next"'),
    (200, 304),
    "The next page, a path on this server; absent on the last page.",
    required=False,
)
