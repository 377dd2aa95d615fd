"""What can go wrong. The API's own errors have one class for each `Error-Code`.

```python
try:
    document = client.document(id)
except dtd.errors.DocumentNotFound as exc:
    print(exc)
```
"""

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx  # at run time, a client imports it: `dtd --help` does without its 0.2 s


def printable(text: str, instead: str = " ") -> str:
    """The text without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else instead for c in text)


class Error(Exception):
    """The base of all errors of this package. Its text is one sentence.

    Attributes:
        may_pass: whether the same request may succeed later.
        retry_after: seconds to wait before it, if a response says so.
        is_refusal: whether the API has refused the request.
    """

    may_pass = is_refusal = False
    retry_after: float | None = None


class ConnectionFailed(Error):
    """The service could not be reached, or the connection broke, until the time limit."""

    may_pass = True


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

    def __init__(self, response: "httpx.Response") -> None:
        headers = response.headers
        self.status, self.body = response.status_code, json_of(response)
        self.code, self.request_id = headers.get("Error-Code", ""), headers.get("Request-Id", "")
        self.may_pass, self.retry_after = self.status in (429, 503), seconds_of(headers)
        self.is_refusal = self.status < 500 and not self.may_pass
        text = self.body.get("error") or f"{response.url} responded with {self.status}."
        text = f"{text} (Request-Id {self.request_id})" if self.request_id else text
        super().__init__(printable(text))


def json_of(response: "httpx.Response") -> dict[str, Any]:
    """The JSON object in the body; empty if there is none."""
    with suppress(ValueError):
        if isinstance(body := response.json(), dict):
            return body
    return {}


def seconds_of(headers: "httpx.Headers") -> float | None:
    """How long `Retry-After` says to wait: it has a number, or a date."""
    from email.utils import parsedate_to_datetime  # 0.03 s, which `dtd --help` does without

    header = headers.get("Retry-After", "")
    if re.fullmatch("[0-9]{1,9}", header):
        return float(header)
    with suppress(TypeError, ValueError):
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    return None


CLASSES: dict[str, type[APIError]] = {}


def kind(code: str, text: str) -> type[APIError]:
    """The class of an `Error-Code`, which is its name in capitals."""
    CLASSES[code] = made = type(code.title().replace("_", ""), (APIError,), {"__doc__": text})
    return made


InvalidParameter = kind("invalid_parameter", "400: a query parameter, named in the text, is wrong.")
InvalidRequest = kind("invalid_request", "400: the request as a whole is not valid.")
InvalidKey = kind("invalid_key", "401: the key is missing, mistyped, revoked, expired or deleted.")
PlanLimit = kind("plan_limit", "402: the workspace's plan has no API; see `body['details']`.")
HttpsRequired = kind("https_required", "403: the request was sent over plain HTTP.")
WorkspaceSuspended = kind("workspace_suspended", "403: the workspace is suspended.")
DocumentNotFound = kind("document_not_found", "404: the workspace does not have this document.")
DocumentNotComplete = kind(
    "document_not_complete", "404: it has no signed file and certificate yet."
)
PathNotFound = kind("path_not_found", "404: the path is wrong; perhaps the base URL is.")
MethodNotAllowed = kind("method_not_allowed", "405: the API is read-only.")
FileArchived = kind("file_archived", "409: the operator has to restore the file from an archive.")
CursorExpired = kind(
    "cursor_expired", "410: events after the cursor may be missing: list everything."
)
PreconditionFailed = kind("precondition_failed", "412: a condition of the request does not hold.")
RangeNotSatisfiable = kind("range_not_satisfiable", "416: the file is shorter than the range.")
TooManyRequests = kind("too_many_requests", "429: the key has made too many, until the time limit.")
ServerError = kind("server_error", "500: something went wrong in the service.")
Unavailable = kind("unavailable", "503: a part of the service is out of reach, or overloaded.")
Busy = kind("busy", "503: the key or the address has too many requests under way.")
TooManyDownloads = kind(
    "too_many_downloads", "503: the key or the address has too many downloads in progress."
)

MISSING = (DocumentNotFound, DocumentNotComplete)  # for example, deleted since it was listed
