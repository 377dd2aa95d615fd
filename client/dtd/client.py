"""The client: requests, retries, pages and downloads."""

import logging
import os
import random
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, suppress
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from dtd import errors
from dtd.download import Part, StrPath, fitting, home
from dtd.errors import APIError, ConnectionFailed, Error, printable
from dtd.models import Document, DocumentStatus, Event, FeedType, Me, RecipientStatus, camel
from dtd.version import VERSION

if TYPE_CHECKING:
    import httpx  # at run time, a client imports it: `dtd --help` does without its 0.2 s

LONGEST_WAIT = 30.0  # seconds, between two requests, if the service names no time
SLOW_BELOW = 30  # requests left in the minute: from there on, they are spread over its rest
# Windows before 11 writes to a device instead of a file whose name begins so.
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *\.", re.IGNORECASE)
Time = date | str | None  # a date is a day of UTC; a date-time needs its offset

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
        insecure: whether the key may be sent over plain HTTP to another machine.

    Raises:
        ValueError: One of these, or of the variables, is missing or cannot be used.
    """

    def __init__(
        self,
        key: str | None = None,
        base_url: str | None = None,
        *,
        patience: float = 120.0,
        timeout: float = 60.0,
        proxy: str | None = None,
        ca_file: StrPath | None = None,
        insecure: bool = False,
    ) -> None:
        import httpx

        # No local variable has the key: a traceback of what fails below may show these.
        self._key = (os.environ.get("DTD_API_KEY", "") if key is None else key).strip()
        del key
        if not re.fullmatch("[!-~]+", self._key):
            raise ValueError("There is no key, or not all of it is one: set DTD_API_KEY.")
        base = (base_url or os.environ.get("DTD_BASE_URL", "")).strip().rstrip("/")
        self.base_url = base.removesuffix("/api/v1")
        url = None
        with suppress(httpx.InvalidURL):  # whose text may have a password in it
            url = httpx.URL(self.base_url)
        if not url or url.scheme not in ("http", "https") or not url.host or url.userinfo:
            raise ValueError("The base URL must be the service's, https://…: set DTD_BASE_URL.")
        is_safe = url.scheme == "https" or re.fullmatch(r"localhost|127(\.\d+){3}|::1", url.host)
        if not is_safe and not insecure:
            raise ValueError("Over http://, others can read the key: use https://, or --insecure.")
        # Not by httpx, which names no variable that is wrong.
        proxy, verify = proxy or proxy_of(url), trusted(ca_file)
        try:
            self._http = httpx.Client(
                base_url=url, timeout=timeout, proxy=proxy, verify=verify, trust_env=False
            )
        except (httpx.InvalidURL, ValueError) as exc:
            raise ValueError("HTTPS_PROXY or ALL_PROXY is not the URL of a proxy.") from exc
        own = {"Authorization": f"Bearer {self._key}", "User-Agent": f"dtd-client/{VERSION}"}
        self._http.headers.update(own)
        del self._key
        self._patience, self._pace = patience, Pace()

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def me(self) -> Me:
        """The workspace and the key, with document counts."""
        return Me.parse(self._json("/api/v1/me", {})["data"])

    def documents(
        self, *, status: DocumentStatus | str | None = None, limit: int | None = None
    ) -> Iterator[Document]:
        """Documents, newest first: all, or those with a status, or at most `limit`."""
        return self._documents("/api/v1/documents", {"status": status}, limit)

    def search(
        self,
        *,
        status: DocumentStatus | Sequence[DocumentStatus] | None = None,
        created_from: Time = None,
        created_before: Time = None,
        sent_from: Time = None,
        sent_before: Time = None,
        completed_from: Time = None,
        completed_before: Time = None,
        expires_from: Time = None,
        expires_before: Time = None,
        recipient: str | None = None,
        recipient_status: RecipientStatus | None = None,
        title: str | None = None,
        sort: Literal["created", "completed", "expires"] | None = None,
        limit: int | None = None,
    ) -> Iterator[Document]:
        """Documents to which all parameters apply, newest first. A date is a day of UTC, a time
        needs its offset; a recipient is an e-mail address, a title has beginnings of words.

        ```python
        for document in client.search(completed_from=date(2026, 7, 1), recipient="ada@example.com"):
            print(document.title)
        ```

        Raises:
            InvalidParameter: A value is not valid.
        """
        given = {name: value for name, value in locals().items() if name not in ("self", "limit")}
        return self._documents("/api/v1/search", given, limit)

    def document(self, id: str) -> Document:
        """One document with its recipients.

        Raises:
            DocumentNotFound: The workspace has none with this id.
        """
        return Document.parse(self._json(path_of(id), {})["data"])

    def events(self, *, after: str | None = None, type: FeedType | str | None = None) -> "Events":
        """What happened in the last 30 days, or after a cursor, oldest first.

        Args:
            after: the `cursor` of events that were read before, or "now".

        Raises:
            CursorExpired: Events may be missing. Request `after="now"`, then list all documents.
        """
        return Events(self._json, after, type)

    def download(
        self, id: str, *, type: str | None = None, to: StrPath, name: str | None = None
    ) -> Path:
        """Downloads a PDF: as a whole or not at all, whatever happens.

        What a broken-off download has left in `.ID-TYPE.part` is continued, also by another call.

        Args:
            type: "signed", "original" or "certificate"; if it is not given, the signed file once
                the document is complete, and the original until then.
            to: a folder that exists, or the path of the file, which is replaced; `~` is HOME.
            name: the file's name in the folder; without it, the service names the file.

        Returns:
            The file's path.

        Raises:
            DocumentNotComplete: It has no signed file and no certificate yet.
            DamagedFile: The digest differs, also after another download.
            FileExistsError: Another file has the name that the service gives this one.
            OSError: The file cannot be written.
        """
        to, path = home(to), f"{path_of(id)}/download"
        folder, name = (to, name) if name or to.is_dir() else (to.parent, to.name)
        folder.mkdir(parents=True, exist_ok=True)
        with closing(Part(folder / f".{id}-{type or 'default'}.part")) as part:
            while True:
                begun = part.size > 0
                try:
                    response = self._request(path, {"type": type}, part)
                    named = folder / (name or file_name(response, folder))
                    return part.save(named, may_replace=name is not None)
                except (errors.DamagedFile, errors.RangeNotSatisfiable, *errors.MISSING):
                    part.restart()  # what was there is of another file
                    if not begun:
                        raise

    def _documents(
        self, path: str, parameters: dict[str, Any], limit: int | None
    ) -> Iterator[Document]:
        """The documents of all pages, or the first of them. The API refuses a negative limit."""
        params = {
            camel(name): value.isoformat() if isinstance(value, date) else value
            for name, value in parameters.items()
        }
        params["limit"] = 100 if limit is None else min(limit, 100)
        return islice(self._pages(path, params), limit and max(limit, 1))

    def _pages(self, path: str, params: dict[str, Any]) -> Iterator[Document]:
        while True:
            body = self._json(path, params)
            yield from map(Document.parse, body["data"])
            if body["nextCursor"] is None:
                return
            params = params | {"cursor": body["nextCursor"]}

    def _json(self, path: str, params: dict[str, Any]) -> dict[str, Any]:
        """The body of a good response."""
        response = self._request(path, params)
        if "data" not in (body := errors.json_of(response)):
            raise errors.InvalidResponse(f"{response.url} is not the API: check the base URL.")
        return body

    def _request(
        self, path: str, params: dict[str, Any], part: Part | None = None
    ) -> "httpx.Response":
        """A good response, whose body is in the part if there is one.

        A failed request is repeated if that can help and there is time left.
        """
        left, failures = self._patience, 0
        while True:
            self._pace.wait(self._patience)
            began, before = time.monotonic(), part and part.size
            try:
                return self._attempt(path, params, part)
            except Error as exc:
                if not exc.may_pass:
                    raise
                error = exc
            if part and part.size != before:  # the download went on
                left, failures, began = self._patience, 0, time.monotonic()
            seconds = error.retry_after
            if seconds is None:
                seconds = min(2**failures, LONGEST_WAIT) * random.uniform(0.5, 1)  # noqa: S311 - jitter
                failures += 1
            left -= time.monotonic() - began + seconds
            if left < 0:
                raise error
            log.warning("%s Waiting %.0f s.", error, max(seconds, 1))
            time.sleep(seconds)

    def _attempt(self, path: str, params: dict[str, Any], part: Part | None) -> "httpx.Response":
        """One request."""
        import httpx

        given = {name: value for name, value in params.items() if value is not None}
        headers = part.headers() if part else {}
        try:
            with self._http.stream("GET", path, params=given, headers=headers) as response:
                self._pace.note(response.headers.get("RateLimit", ""))
                is_good = response.status_code in (200, 206)
                if part and is_good:
                    part.receive(response)
                else:
                    response.read()
        except httpx.RequestError as exc:
            text = f"{exc.request.url.copy_with(query=None)}: {str(exc) or type(exc).__name__}."
            is_final = "CERTIFICATE_VERIFY_FAILED" in text
            raise (Error if is_final else ConnectionFailed)(text) from exc
        if not is_good:
            kind = errors.CLASSES.get(response.headers.get("Error-Code", ""), APIError)
            raise kind(response)
        return response


class Events(Iterable[Event]):
    """Events, oldest first. A loop ends after the last one; the next loop goes on from there.

    Attributes:
        cursor: `events(after=cursor)` returns what has not been read. During a loop, this may be
            some of the events before the present one, too; none is ever skipped.
    """

    def __init__(self, read: Callable[..., Any], after: str | None, type: str | None) -> None:
        self._read, self.cursor, self._type = read, after, type

    def __iter__(self) -> Iterator[Event]:
        while True:
            params = {"after": self.cursor, "type": self._type, "limit": 100}
            page = self._read("/api/v1/events", params)
            yield from map(Event.parse, page["data"])
            self.cursor = page["nextCursor"]
            if not page["data"]:
                return


class Pace:
    """Waits before requests, so that a 429 does not come: the last of a minute are spread."""

    def __init__(self) -> None:
        self._lock, self._interval, self._end = threading.Lock(), 0.0, 0.0

    def note(self, header: str) -> None:
        """Reads the header `RateLimit`."""
        if found := re.search(r"r=(\d{1,9});t=(\d{1,9})", header):
            left, seconds = int(found[1]), min(int(found[2]), 60)  # whatever it says
            self._interval = seconds / (left + 1) if left < SLOW_BELOW else 0.0
            self._end = time.monotonic() + seconds

    def wait(self, longest: float) -> None:
        """Waits for this request's turn: threads wait one after the other."""
        with self._lock:
            if (seconds := min(self._interval, self._end - time.monotonic(), longest)) > 0:
                time.sleep(seconds)


def path_of(id: str) -> str:
    """The path of a document; the id must have no character that would change it."""
    if not re.fullmatch("[0-9A-Za-z_-]+", id):
        raise ValueError(f"{id!r} is not the id of a document.")
    return f"/api/v1/documents/{id}"


def proxy_of(url: "httpx.URL") -> str | None:
    """The proxy of the usual variables; httpx itself refuses an IPv6 address in NO_PROXY."""
    from urllib.request import getproxies, proxy_bypass

    if any(map(proxy_bypass, (url.host, url.netloc.decode()))):
        return None
    found = getproxies().get(url.scheme) or getproxies().get("all")
    return f"http://{found}" if found and "://" not in found else found


def trusted(ca_file: StrPath | None) -> ssl.SSLContext | bool:
    """The certificates to trust; True for those of the package certifi."""
    file, folder = ca_file or os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    try:
        if file:
            return ssl.create_default_context(cafile=home(file))
        return not folder or ssl.create_default_context(capath=home(folder).resolve(strict=True))
    except OSError as exc:
        name = "ca_file" if ca_file else "SSL_CERT_FILE" if file else "SSL_CERT_DIR"
        raise ValueError(f"{name} is {file or folder}: {exc.strerror}.") from exc


def file_name(response: "httpx.Response", folder: Path) -> str:
    """The name of a downloaded file, made safe for a path."""
    sent = response.headers.get("Content-Disposition", "")
    named = re.search(r"filename\*=UTF-8''([^;]+)", sent)
    name = re.sub(r'[<>:"/\\|?*]', "_", printable(unquote(named[1]), "_")) if named else ""
    stem = name.removesuffix(".pdf").strip(" .").lstrip("-. ") or "document"
    at = stem.rfind(" – ", -15)  # before "signed" or "certificate"
    stem, ending = (stem[:at], stem[at:]) if at > 0 else (stem, "")
    if DEVICE.match(f"{stem}{ending}."):
        stem = f"_{stem}"
    return fitting(folder, stem, f"{ending}.pdf")
