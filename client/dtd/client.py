"""The client: requests, retries, pages and downloads."""

import logging
import os
import random
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from dtd import errors
from dtd.download import Part
from dtd.errors import APIError, ConnectionFailed, Error
from dtd.models import Document, DocumentStatus, Event, EventType, Me, ModelType, Page, camel
from dtd.version import VERSION

if TYPE_CHECKING:
    import httpx  # at run time, a client imports it: `dtd --help` does without its 0.2 s

LONGEST_WAIT = 30.0  # seconds, between two requests, if the service names no time
SLOW_BELOW = 30  # requests left in the minute: from there on, they are spread over its rest
T = TypeVar("T")

log = logging.getLogger("dtd")


class Client(AbstractContextManager["Client"]):
    """A client of one workspace. Threads can share it; it needs no `close()` at the exit.

    ```python
    client = dtd.Client()
    print(client.me().workspace.name)
    for event in client.events(type="document.completed"):
        client.download(event.data.id, type="signed", to="agreements")
    ```

    It retries after a connection error, a 429 and a 503, as `Retry-After` says, and nothing else.
    The logger "dtd" has a line for each wait.

    Args:
        key: `dtd_…`; the variable `DTD_API_KEY` if it is not given. It is never printed.
        base_url: https://…, without /api/v1; `DTD_BASE_URL` if it is not given.
        patience: seconds of failed requests and waits after which a call raises its last error. A
            download that goes on has all of them again.
        timeout: seconds that the service may be silent.
        proxy: the URL of a proxy; the usual variables, such as `HTTPS_PROXY`, if it is not given.
        ca_file: PEM certificates to trust; `SSL_CERT_FILE` or the usual ones if it is not given.

    Raises:
        ValueError: There is no key or no base URL, or it cannot be one.
    """

    def __init__(
        self,
        key: str | None = None,
        base_url: str | None = None,
        *,
        patience: float = 120.0,
        timeout: float = 60.0,
        proxy: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        import httpx

        key = (os.environ.get("DTD_API_KEY", "") if key is None else key).strip()
        self.base_url = (base_url or os.environ.get("DTD_BASE_URL", "")).strip().rstrip("/")
        self.base_url = self.base_url.removesuffix("/api/v1")
        if not key:
            raise ValueError("There is no key: set DTD_API_KEY.")
        if not re.fullmatch("[!-~]+", key):
            raise ValueError("The key has a character that is in no key; copy it again.")
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError(
                "The base URL must be the service's address, https://…: set DTD_BASE_URL."
            )
        try:
            self._http = httpx.Client(
                base_url=self.base_url,
                headers={"Authorization": f"Bearer {key}", "User-Agent": f"dtd-client/{VERSION}"},
                timeout=timeout,
                proxy=proxy,
                verify=ssl.create_default_context(cafile=ca_file) if ca_file else True,
            )
        except httpx.InvalidURL as exc:
            raise ValueError(f"{self.base_url} is not a URL: {exc}.") from exc
        self._patience, self._pace = patience, Pace()

    def __repr__(self) -> str:
        return f"Client(base_url={self.base_url!r})"

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def me(self) -> Me:
        """The workspace and the key, with document counts."""
        return Me.parse(self._json("/api/v1/me", {})["data"])

    def documents(
        self, *, status: DocumentStatus | str | None = None, page_size: int = 100
    ) -> Iterator[Document]:
        """All documents, newest first, or those with a status."""
        params = {"status": status, "limit": page_size}
        for page in self._pages("/api/v1/documents", Document, "cursor", params):
            yield from page.data

    def search(
        self, *, page_size: int = 100, **parameters: str | date | Sequence[str] | None
    ) -> Iterator[Document]:
        """All documents to which every parameter applies, newest first.

        ```python
        for document in client.search(completed_from=date(2026, 7, 1), recipient="ada@example.com"):
            print(document.title)
        ```

        Args:
            parameters: those of `GET /api/v1/search` in snake case: status (or several),
                created_from, created_before, the same of sent, completed and expires (a date is a
                day of UTC, a time needs its offset), recipient, recipient_status, title, sort.

        Raises:
            InvalidParameter: There is no such parameter, or its value is not valid.
        """
        params: dict[str, Any] = {
            camel(name): value.isoformat() if isinstance(value, date) else value
            for name, value in parameters.items()
        }
        params["limit"] = page_size
        for page in self._pages("/api/v1/search", Document, "cursor", params):
            yield from page.data

    def document(self, id: str) -> Document:
        """One document with its recipients.

        Raises:
            DocumentNotFound: The workspace has none with this id.
        """
        return Document.parse(self._json(path_of(id), {})["data"])

    def events(
        self, *, after: str | None = None, type: EventType | str | None = None
    ) -> Iterator[Event]:
        """What happened so far, oldest first: in 30 days, or after a cursor."""
        for page in self.event_pages(after=after, type=type):
            yield from page.data

    def event_pages(
        self, *, after: str | None = None, type: EventType | str | None = None
    ) -> Iterator[Page[Event]]:
        """The same in pages; the last one is empty. Keep its `next_cursor`, and pass it as `after`
        later: no event is skipped and none is shown twice.

        Args:
            after: a cursor, or "now".

        Raises:
            CursorExpired: Events may be missing. Request `after="now"`, then list all documents.
        """
        params = {"after": after, "type": type, "limit": 100}
        return self._pages("/api/v1/events", Event, "after", params)

    def download(self, id: str, *, type: str | None = None, to: str | os.PathLike[str]) -> Path:
        """Downloads a PDF: as a whole or not at all, whatever happens.

        What a broken-off download has left in `.ID-TYPE.part` is continued, also by another call.

        Args:
            type: "signed", "original" or "certificate"; if it is not given, the signed file once
                the document is complete, and the original until then.
            to: a folder that exists, where the file gets its own name, or the path of the file.

        Returns:
            The file's path.

        Raises:
            DocumentNotComplete: It has no signed file and no certificate yet.
            DamagedFile: The digest differs, also after another download.
            OSError: The file cannot be written.
        """
        to, path = Path(to), f"{path_of(id)}/download"
        folder = to if to.is_dir() else to.parent
        folder.mkdir(parents=True, exist_ok=True)
        with closing(Part(folder / f".{id}-{type or 'default'}.part")) as part:
            while True:
                begun = part.size > 0
                try:
                    receive = partial(self._receive, path, type, part)
                    name = self._retry(receive, received=lambda: part.size)
                    return part.save(to / name if to == folder else to)
                except (
                    errors.DamagedFile,
                    errors.RangeNotSatisfiable,
                    errors.DocumentNotFound,
                    errors.DocumentNotComplete,
                ):
                    part.restart()  # what was there is of another file
                    if not begun:
                        raise

    def _receive(self, path: str, type: str | None, part: Part) -> str:
        """Adds to the part what is missing; returns the file's name."""
        headers = {"Accept-Encoding": "identity"}
        if part.size:
            headers["Range"] = f"bytes={part.size}-"
            if part.etag:
                headers["If-Range"] = part.etag
        with self._get(path, {"type": type}, headers) as response:
            if response.status_code != 206:
                part.restart()
            part.etag = response.headers.get("ETag", "")
            for block in response.iter_raw():
                part.write(block)
        if response.headers.get("Repr-Digest") != f"sha-256=:{part.digest}:":
            raise errors.DamagedFile(f"{path}: The file is damaged: its digest differs.")
        return file_name(response.headers)

    def _json(self, path: str, params: dict[str, Any]) -> dict[str, Any]:
        """The body of a good response."""

        def attempt() -> dict[str, Any]:
            with self._get(path, params) as response:
                response.read()
            if "data" in (body := json_of(response)):
                return body
            raise errors.InvalidResponse(f"{response.url} is not the API: check the base URL.")

        return self._retry(attempt)

    def _pages(
        self, path: str, model: type[ModelType], cursor: str, params: dict[str, Any]
    ) -> Iterator[Page[ModelType]]:
        """Pages of documents until there is no cursor, of events until one is empty."""
        while True:
            body = self._json(path, params)
            page = Page([model.parse(each) for each in body["data"]], body["nextCursor"])
            yield page
            if page.next_cursor is None or (cursor == "after" and not page.data):
                return
            params = params | {cursor: page.next_cursor}

    @contextmanager
    def _get(
        self, path: str, params: dict[str, Any], headers: dict[str, str] | None = None
    ) -> Iterator["httpx.Response"]:
        """A good response, whose body is still to be read.

        Raises:
            APIError: It is an error response.
            ConnectionFailed: Another attempt may help.
            Error: None will.
        """
        import httpx

        given = {name: value for name, value in params.items() if value is not None}
        try:
            with self._http.stream("GET", path, params=given, headers=headers) as response:
                self._pace.note(response.headers.get("RateLimit", ""))
                if response.status_code not in (200, 206):
                    response.read()
                    raise error_of(response)
                yield response
        except (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError) as exc:
            text = f"{exc.request.url.copy_with(query=None)}: {str(exc) or type(exc).__name__}."
            is_final = "CERTIFICATE_VERIFY_FAILED" in text
            raise (Error if is_final else ConnectionFailed)(text) from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise Error(f"{type(exc).__name__}: {exc}.") from exc

    def _retry(self, attempt: Callable[[], T], received: Callable[[], int] = lambda: 0) -> T:
        """Returns what the attempt returns; repeats it if that can help and there is time left.

        Args:
            received: bytes of a file; an attempt that has changed them has all the time again.
        """
        left, failures, before = self._patience, 0, received()
        while True:
            self._pace.wait()
            began = time.monotonic()
            try:
                return attempt()
            except (APIError, ConnectionFailed) as exc:
                if isinstance(exc, APIError) and exc.status not in (429, 503):
                    raise
                error = exc
            if received() != before:
                left, failures, before = self._patience, 0, received()
                began = time.monotonic()
            seconds = error.retry_after
            if seconds is None:
                seconds = min(2**failures, LONGEST_WAIT) * random.uniform(0.5, 1)  # noqa: S311 - jitter
                failures += 1
            left -= time.monotonic() - began + seconds
            if left < 0:
                raise error
            log.warning("%s Waiting %.0f s.", error, max(seconds, 1))
            time.sleep(seconds)


class Pace:
    """Waits before requests, so that a 429 does not come: the last of a minute are spread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._interval = self._last = self._reset = 0.0

    def note(self, header: str) -> None:
        """Reads the header `RateLimit`."""
        if found := re.search(r"r=(\d+);t=(\d+)", header):
            left, seconds, now = int(found[1]), int(found[2]), time.monotonic()
            self._interval = seconds / (left + 1) if left < SLOW_BELOW else 0.0
            self._last, self._reset = max(self._last, now), now + seconds

    def wait(self) -> None:
        """Waits for this request's turn."""
        with self._lock:
            now = time.monotonic()
            self._last = turn = max(now, min(self._last + self._interval, self._reset))
        if turn > now:
            time.sleep(turn - now)


def error_of(response: "httpx.Response") -> APIError:
    """The error that a response, whose body was read, stands for."""
    body, headers = json_of(response), response.headers
    text = body.get("error") or f"{response.url} responded with {response.status_code}."
    kind = APIError.classes.get(headers.get("Error-Code", ""), APIError)
    return kind(text, response.status_code, headers, body)


def json_of(response: "httpx.Response") -> dict[str, Any]:
    """The JSON object in the body; empty if there is none."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def path_of(id: str) -> str:
    """The path of a document.

    Raises:
        ValueError: The id has characters that are in no id, and would change the path.
    """
    if not re.fullmatch("[0-9A-Za-z_-]+", id):
        raise ValueError(f"{id!r} is not the id of a document.")
    return f"/api/v1/documents/{id}"


def file_name(headers: "httpx.Headers") -> str:
    """The name of a downloaded file, made safe for a path."""
    named = re.search(r"filename\*=UTF-8''([^;]+)", headers.get("Content-Disposition", ""))
    name = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*]', "_", unquote(named[1])) if named else ""
    return name.strip(" .") or "document.pdf"
