"""The specification's errors table, one class per row; `config.api.responses` renders them.

Every body is `{"error": "<plain sentence>"}`; only a 402 adds `details`.
"""

from typing import Any

from django.conf import settings
from rest_framework.exceptions import APIException

RETRY_SECONDS = 5  # the wait that a 503 asks for


class ApiError(APIException):
    """A row of the errors table.

    Attributes:
        status_code: the HTTP status.
        text: the sentence in `error`.
        headers: headers of the response.
        details: the object in `details`; None if the body has none.
    """

    text = ""
    details: dict[str, Any] | None = None

    def __init__(self, text: str | None = None, headers: dict[str, str] | None = None) -> None:
        self.text = text or self.text
        self.headers = headers or {}
        super().__init__(self.text)

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object of the response."""
        if self.details is None:
            return {"error": self.text}
        return {"error": self.text, "details": self.details}


class InvalidParameter(ApiError):
    """400: a query parameter is not valid. The text names it and says what it must be."""

    status_code = 400

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"The query parameter '{name}' is not valid: it takes {expected}.")


class InvalidRequest(ApiError):
    """400: the server cannot read the request."""

    status_code = 400
    text = "The request is not valid."


class InvalidKey(ApiError):
    """401: the same bytes for every cause, so that the response does not tell which one it is."""

    status_code = 401
    text = (
        "A valid API key is required. Send it in the header 'Authorization: Bearer dtd_...'; "
        "a workspace admin can create one in the developer settings."
    )

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": "Bearer"})


class PlanRequired(ApiError):
    """402: the key is valid but its workspace's plan does not include the API.

    Args:
        upgrade: the plan to move to; None if no plan is offered.
    """

    status_code = 402
    text = (
        "The API is available on the Pro and Business plans; this workspace's plan does not "
        "include it."
    )

    def __init__(self, upgrade: str | None) -> None:
        super().__init__()
        self.details = {"code": "plan_limit", "upgrade": upgrade, "href": settings.UPGRADE_URL}


class WorkspaceSuspended(ApiError):
    """403: the workspace is suspended; its keys are refused."""

    status_code = 403
    text = "This workspace is suspended, so its API keys are refused. Please contact support."


class DocumentNotFound(ApiError):
    """404: unknown, malformed, deleted or another workspace's; the same bytes for all."""

    status_code = 404
    text = "There is no such document in this workspace."


class DocumentNotComplete(ApiError):
    """404: `signed` or `certificate` was asked for before everyone has finished."""

    status_code = 404
    text = (
        "The document is not complete: its signed file and certificate exist once everyone has "
        "finished. Use type=original for the file as uploaded."
    )


class PathNotFound(ApiError):
    """404: the API has no such path."""

    status_code = 404
    text = "The API has no such path."


class MethodNotAllowed(ApiError):
    """405: the API only reads."""

    status_code = 405
    text = "The API is read-only: use GET (or HEAD)."

    def __init__(self) -> None:
        super().__init__(headers={"Allow": "GET, HEAD"})


class PreconditionFailed(ApiError):
    """412: `If-Match` or `If-Unmodified-Since` names another version of the file."""

    status_code = 412
    text = "The file is not the version that the request names in If-Match or If-Unmodified-Since."


class RangeNotSatisfiable(ApiError):
    """416: the file has none of the bytes in `Range`.

    Args:
        size: bytes of the file.
    """

    status_code = 416

    def __init__(self, size: int) -> None:
        super().__init__(
            f"The file has no such bytes: it has {size}.",
            headers={"Content-Range": f"bytes */{size}"},
        )


class TooManyRequests(ApiError):
    """429: the key has used up its minute.

    Args:
        seconds: whole seconds until the next request passes, at least 1.
    """

    status_code = 429

    def __init__(self, limit: int, seconds: int) -> None:
        super().__init__(
            f"Too many requests: this key may make {limit} a minute. "
            f"Try again in {seconds} second{'' if seconds == 1 else 's'}.",
            headers={"Retry-After": str(seconds)},
        )


class ServerError(ApiError):
    """500: an unexpected error. The log has the traceback with the response's Request-Id."""

    status_code = 500
    text = "Something went wrong on our side. Please quote the Request-Id header to support."


class Unavailable(ApiError):
    """503: the database or object storage is out of reach."""

    status_code = 503
    text = f"The service cannot be reached right now. Try again in {RETRY_SECONDS} seconds."

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": str(RETRY_SECONDS)})
