"""What can go wrong. The API's own errors have one class for each `Error-Code`.

```python
try:
    document = client.document(id)
except dtd.errors.DocumentNotFound as exc:
    print(exc)
```
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar


class Error(Exception):
    """The base of all errors of this package. Its text is one sentence.

    Attributes:
        retry_after: seconds to wait before another request, if a response says so.
    """

    retry_after: float | None = None


class ConnectionFailed(Error):
    """The service could not be reached, or the connection broke, until the time limit."""


class DamagedFile(Error):
    """A downloaded file is not the one that the service has: its digest differs."""


class InvalidResponse(Error):
    """A response does not come from the API; perhaps the base URL is wrong."""


class InvalidSignature(Error):
    """A webhook was not signed with this secret, or too long ago."""


class APIError(Error):
    """An error response; its text ends with the Request-Id, to quote to support. One whose
    `Error-Code` is not known here is of this class itself.

    Attributes:
        status: the HTTP status.
        body: the response's JSON object; empty if it has none.
        code: the response's `Error-Code`; empty if there is none, as in a proxy's own errors.
        request_id: empty if there is none.
    """

    classes: ClassVar[dict[str, type["APIError"]]] = {}

    def __init_subclass__(cls) -> None:
        cls.classes[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()] = cls

    def __init__(
        self, text: str, status: int, headers: Mapping[str, str], body: dict[str, Any]
    ) -> None:
        self.status, self.body = status, body
        self.code, self.request_id = headers.get("Error-Code", ""), headers.get("Request-Id", "")
        super().__init__(f"{text} (Request-Id {self.request_id})" if self.request_id else text)
        self.retry_after = seconds_of(headers.get("Retry-After", ""))


def seconds_of(header: str) -> float | None:
    """How long `Retry-After` says to wait: it has a number, or a date."""
    from email.utils import parsedate_to_datetime  # 0.03 s, which `dtd --help` does without

    if re.fullmatch("[0-9]{1,9}", header):
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


class InvalidParameter(APIError):
    """400: a query parameter is not valid; the text names it."""


class InvalidRequest(APIError):
    """400: the request as a whole is not valid."""


class InvalidKey(APIError):
    """401: the key is missing, mistyped, revoked, expired or deleted."""


class PlanLimit(APIError):
    """402: the workspace's plan does not include the API; see `body["details"]`."""


class HttpsRequired(APIError):
    """403: the request was sent over plain HTTP."""


class WorkspaceSuspended(APIError):
    """403: the workspace is suspended."""


class DocumentNotFound(APIError):
    """404: the workspace has no such document, or has it no more."""


class DocumentNotComplete(APIError):
    """404: the document has no signed file and no certificate yet."""


class PathNotFound(APIError):
    """404: the path is wrong; perhaps the base URL is."""


class MethodNotAllowed(APIError):
    """405: the API is read-only."""


class CursorExpired(APIError):
    """410: events that follow the cursor may be missing; read the whole list again."""


class PreconditionFailed(APIError):
    """412: a condition of the request does not hold."""


class RangeNotSatisfiable(APIError):
    """416: the file is shorter than the requested range."""


class TooManyRequests(APIError):
    """429: the key has made too many requests, and the time limit for retries is reached."""


class ServerError(APIError):
    """500: something went wrong in the service."""


class Unavailable(APIError):
    """503: a part of the service is out of reach."""


class Busy(APIError):
    """503: the service has too many requests."""


class TooManyDownloads(APIError):
    """503: too many downloads are in progress."""
