"""The specification's errors table, one class per row; `config.api.exceptions` renders them.

Every body is `{"error": "<plain sentence>"}`; only a 402 adds `details`. The header `Error-Code`
has a word for each class.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework.exceptions import APIException

RETRY_SECONDS = 5  # what a 503 asks a client to wait


class ApiError(APIException):
    """An error response.

    Attributes:
        status_code: the HTTP status.
        default_code: one word for the error, for programs: `Error-Code`. It never changes.
        default_detail: the sentence in `error`.
        headers: headers that the response has besides those of every response.
        reason: why, for the log; it may say what the response must not.
        cause: of a 503, the part that fails, in one word, for the log.
    """

    headers: Mapping[str, str] = {}

    def __init__(
        self,
        detail: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        reason: str = "",
        cause: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.headers = {"Error-Code": self.default_code, **self.headers, **(headers or {})}
        self.reason = reason
        self.cause = cause

    @property
    def body(self) -> dict[str, Any]:
        return {"error": str(self.detail)}


class InvalidParameter(ApiError):
    status_code = 400
    default_code = "invalid_parameter"

    def __init__(self, name: str, expected: str, problem: str = "is not valid") -> None:
        super().__init__(f"The query parameter '{name}' {problem}: it must be {expected}.")


class InvalidRequest(ApiError):
    status_code = 400
    default_code = "invalid_request"
    default_detail = "The request is not valid."


class InvalidKey(ApiError):
    """There is no valid key: no header or a malformed one, or a key that is unknown, revoked,
    expired or deleted. The response is the same for all of these."""

    status_code = 401
    default_code = "invalid_key"
    headers = {"WWW-Authenticate": "Bearer"}
    default_detail = (
        "A valid API key is required. Send it in the header 'Authorization: Bearer dtd_...'; "
        "a workspace admin can create one in the developer settings."
    )


class PlanRequired(ApiError):
    """The key is valid, but its workspace's plan does not include the API. The key works again
    after a move to `upgrade`; None if no plan is offered."""

    status_code = 402
    default_code = "plan_limit"
    default_detail = (
        "The API is available on the Pro and Business plans; this workspace's plan does not "
        "include it."
    )

    def __init__(self, *, upgrade: str | None) -> None:
        super().__init__()
        self.upgrade = upgrade

    @property
    def body(self) -> dict[str, Any]:
        details = {"code": self.default_code, "upgrade": self.upgrade, "href": settings.UPGRADE_URL}
        return {**super().body, "details": details}


class HttpsRequired(ApiError):
    status_code = 403
    default_code = "https_required"
    default_detail = (
        "The API needs HTTPS: use https://. A key in this request was sent unencrypted: "
        "revoke it and create another."
    )


class WorkspaceSuspended(ApiError):
    status_code = 403
    default_code = "workspace_suspended"
    default_detail = (
        "This workspace is suspended, so its API keys are refused. Please contact support."
    )


class DocumentNotFound(ApiError):
    """The document is unknown, deleted, or in another workspace. The response is the same for all
    of these."""

    status_code = 404
    default_code = "document_not_found"
    default_detail = "There is no such document in this workspace."


class DocumentNotComplete(ApiError):
    status_code = 404
    default_code = "document_not_complete"
    default_detail = (
        "The document is not complete: its signed file and certificate exist once everyone has "
        "finished. Use type=original for the file as uploaded."
    )


class PathNotFound(ApiError):
    status_code = 404
    default_code = "path_not_found"
    default_detail = "The API has no such path."


class MethodNotAllowed(ApiError):
    status_code = 405
    default_code = "method_not_allowed"
    headers = {"Allow": "GET, HEAD"}
    default_detail = "The API is read-only: use GET (or HEAD)."


class FileArchived(ApiError):
    """The file is in an archive of the object storage (such as Glacier). It can be downloaded again
    once the operator has restored it, so a client should not try again by itself."""

    status_code = 409
    default_code = "file_archived"
    default_detail = (
        "This file is in an archive and cannot be downloaded now. Please ask support to restore "
        "it; until then, another request gets the same response."
    )


class CursorExpired(ApiError):
    """Events that follow the cursor may not be there any more: it is older than 30 days, or the
    service was restored from a backup."""

    status_code = 410
    default_code = "cursor_expired"
    default_detail = (
        "This cursor is too old: events that follow it may be missing. Take a new one with "
        "after=now, then page through GET /api/v1/documents once."
    )


class PreconditionFailed(ApiError):
    status_code = 412
    default_code = "precondition_failed"
    default_detail = (
        "The current version is not the one that the request names in If-Match or "
        "If-Unmodified-Since."
    )


class RangeNotSatisfiable(ApiError):
    status_code = 416
    default_code = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(
            f"The file has no such bytes: it has {size}.",
            headers={"Content-Range": f"bytes */{size}"},
        )


class TooManyRequests(ApiError):
    """The key has made all requests of its minute. The first number in the text is the seconds
    until the next one is accepted: whole seconds, at least 1."""

    status_code = 429
    default_code = "too_many_requests"

    def __init__(self, limit: int, seconds: int) -> None:
        super().__init__(
            f"Try again in {seconds} second{'' if seconds == 1 else 's'}: "
            f"this key may make {limit} requests a minute.",
            headers={"Retry-After": str(seconds)},
            reason=f"over {limit} requests a minute",
        )


class ServerError(ApiError):
    status_code = 500
    default_code = "server_error"
    default_detail = (
        "Something went wrong on our side. Please quote the Request-Id header to support."
    )


class Unavailable(ApiError):
    status_code = 503
    default_code = "unavailable"
    headers = {"Retry-After": str(RETRY_SECONDS)}
    default_detail = f"The service cannot respond right now. Try again in {RETRY_SECONDS} seconds."
