#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx"]
# ///
"""Copies every completed agreement, its signed PDF and its certificate, to TARGET.

TARGET is a folder or s3://BUCKET/PREFIX. Each run, from cron for example, copies what is new; it
can be interrupted at any time. STATE lists the copied files. Remove a line to copy that file again;
in a folder, `sha256sum --check SHA256SUMS` checks all of them.

The first run lists all completed agreements. Later ones request the events since the run before: if
nothing is new, that is one request. The file STATE.cursor says where they go on. Without it, or if
it is too old, a run lists all agreements again. The file STATE.workspace has the id of the
workspace, so that agreements of two are never mixed, and is locked while a run lasts: another run
ends at once, with exit status 75.

  DTD_BASE_URL  address of the service, without /api/v1: https://…
  DTD_API_KEY   a key from the workspace's developer settings: dtd_…

A bucket needs boto3. It reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN (or a
profile, or a role), AWS_REGION, and AWS_ENDPOINT_URL if the bucket is not Amazon's.
"""

import argparse
import base64
import contextlib
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

try:
    import fcntl
except ImportError:  # Windows, whose scheduler starts no second run by default
    fcntl = None  # type: ignore[assignment]

EVENTS = "/api/v1/events"
KINDS = ("signed", "certificate")
LOCKED = 75  # exit status: EX_TEMPFAIL of sysexits.h
# A line of the state, as sha256sum writes it: the digest and the name, which ends in "ID KIND.pdf".
LINE = re.compile(rb"^[0-9a-f]{64}  .+ ([0-9a-f-]{36} (?:signed|certificate)\.pdf)\n", re.MULTILINE)
CLEAR = "\r\x1b[K" if sys.stderr.isatty() else ""  # clears a terminal's line, for the progress bar


class Missing(SystemExit):
    """The service has no such document, or it is not complete (404)."""


class Expired(SystemExit):
    """A cursor is too old (410), or is not one of this workspace (400)."""


class Failed(SystemExit):
    """Every try failed; another request may still succeed."""


def sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def problem_with(response: httpx.Response) -> str:
    """Describes why the response is not what was requested; empty if it is."""
    if response.status_code != 200:
        problem = response.json()["error"] if is_json(response) else response.status_code
        return f"{response.url}: {problem}"
    digest = f"sha-256=:{sha256(response.content)}:"
    whole = is_json(response) or response.headers.get("Repr-Digest") == digest
    return "" if whole else f"{response.url}: The file is damaged: its digest differs."


def is_json(response: httpx.Response) -> bool:
    """Whether it is JSON, as all of the service's own errors are."""
    return bool(response.headers.get("Content-Type") == "application/json")


def get(api: httpx.Client, path: str, **params: str) -> httpx.Response:
    """Returns a good response. Retries if that can help, after the time that the service names.

    Raises:
        Missing, Expired, Failed, or SystemExit: There is none; each has a message.
    """
    for seconds in (1, 2, 3, 0):  # no wait after the last try
        try:
            response = api.get(path, params=params)
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException) as exc:
            problem = f"{exc.request.url}: {exc}."
        else:
            problem = problem_with(response)
            if not problem:
                return response
            if response.headers.get("Error-Code") in (
                "document_not_found",
                "document_not_complete",
            ):
                raise Missing(problem)
            if response.headers.get("Error-Code") in ("invalid_parameter", "cursor_expired"):
                raise Expired(problem)
            if response.status_code not in (200, 429, 500, 502, 503, 504):
                raise SystemExit(problem)
            seconds = seconds and int(response.headers.get("Retry-After", seconds))
        if seconds:
            log(f"{problem} Waiting {seconds} s.")
            time.sleep(seconds)
    raise Failed(problem)


def completed(api: httpx.Client) -> Iterator[dict[str, Any]]:
    """Lists all completed documents, newest first by their creation."""
    params = {"status": "COMPLETED", "limit": "100"}
    while True:
        page = get(api, "/api/v1/documents", **params).json()
        yield from page["data"]
        if page["nextCursor"] is None:
            return
        params["cursor"] = page["nextCursor"]


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Adds the path to an error that lacks it, such as that of a full disk."""
    try:
        yield
    except OSError as exc:
        exc.filename = exc.filename or str(path)
        raise


def save_in_folder(folder: Path, name: str, content: bytes) -> None:
    """Saves a file as a whole or not at all, whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{name}.part"
    with named(part), part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / name)


def bucket(url: str) -> Callable[[str, bytes], None]:
    """Returns a function that saves an object; S3 refuses content that arrives damaged."""
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        config = Config(region_name=os.environ.get("AWS_REGION"), s3={"addressing_style": "path"})
        s3 = boto3.client("s3", config=config)
    except ImportError:
        sys.exit("A bucket needs boto3: pip install boto3")
    except BotoCoreError as exc:
        sys.exit(f"s3://{url}: {exc}")
    name, _, prefix = url.partition("/")

    def save(file: str, content: bytes) -> None:
        try:
            s3.put_object(
                Bucket=name,
                Key=f"{prefix}/{file}".lstrip("/"),
                Body=content,
                ChecksumSHA256=sha256(content),
                ContentType="application/pdf",
            )
        except (BotoCoreError, ClientError) as exc:
            sys.exit(f"s3://{url}: {exc}")

    return save


@contextlib.contextmanager
def alone(state: Path) -> Iterator[None]:
    """Ends the program if another run uses the state; a run that was killed does not."""
    state.parent.mkdir(parents=True, exist_ok=True)
    path = state.with_name(f"{state.name}.workspace")
    with path.open("a") as file:
        try:
            with named(path):
                if fcntl:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"Another run uses {state}, so this one copies nothing.")
            sys.exit(LOCKED)
        yield


class Copier:
    """Copies what the state does not list yet.

    Attributes:
        known: the files that the state lists, each as "ID KIND.pdf".
        new, failed: how many files were copied, and how many could not be.
    """

    def __init__(self, api: httpx.Client, save: Callable[[str, bytes], None], state: Path) -> None:
        self.api, self.save, self.state = api, save, state
        self.cursor = state.with_name(f"{state.name}.cursor")
        self.new = self.failed = self.in_a_row = 0
        self.workspace = state.with_name(f"{state.name}.workspace")
        state.touch()
        content = state.read_bytes()
        self.known = {line[1].decode() for line in LINE.finditer(content)}
        whole = b"".join(line[0] for line in LINE.finditer(content))
        if whole != content:  # it was damaged, or its last line is not whole
            save_in_folder(state.parent, state.name, whole)

    def run(self) -> None:
        try:
            cursor = self.kept_cursor()
            if not self.workspace.read_text(encoding="utf-8"):  # of an earlier release
                self.check_workspace()
            self.copy_since(cursor)
        except Expired as exc:
            if exc.code:
                log(f"{exc} Listing all agreements.")
            self.copy_all()
        log(f"{self.new} new files.")
        if self.failed:
            sys.exit(f"Not copied: {self.failed}. The next run tries again.")

    def copy_since(self, cursor: str) -> None:
        """Copies what the events after the cursor name. The last page for now is empty."""
        events = True
        while events:
            page = get(self.api, EVENTS, type="document.completed", limit="100", after=cursor)
            events, cursor = page.json()["data"], page.json()["nextCursor"]
            for id in (event["data"]["id"] for event in events):
                if not all(f"{id} {kind}.pdf" in self.known for kind in KINDS):
                    with contextlib.suppress(Missing):  # deleted since
                        document = get(self.api, f"/api/v1/documents/{id}").json()["data"]
                        if document["status"] == "COMPLETED":
                            self.copy(document)
            self.keep_cursor(cursor)

    def check_workspace(self) -> int:
        """Returns how many completed documents the workspace has; the state must be of it."""
        data = get(self.api, "/api/v1/me").json()["data"]
        id, name = data["workspace"]["id"], data["workspace"]["name"]
        with named(self.workspace):
            before = self.workspace.read_text(encoding="utf-8").strip()
            if not before:
                self.workspace.write_text(f"{id}\n", encoding="utf-8")
            elif before != id:
                sys.exit(
                    f"{self.state} is of the workspace {before}, and this key is of {id} ({name}). "
                    "Choose another TARGET for it, or another --state."
                )
        return int(data["documents"]["completed"])

    def copy_all(self) -> None:
        """Copies all completed documents. Those that are completed meanwhile are for the next run:
        they may be on pages that were already read."""
        cursor = get(self.api, EVENTS, after="now").json()["nextCursor"]
        total = self.check_workspace()
        for seen, document in enumerate(completed(self.api), 1):
            self.copy(document)
            if CLEAR or seen % 100 == 0:
                bar = f"[{'#' * (30 * seen // max(seen, total)):30}] {seen} of {total} agreements"
                log(f"{bar}, {self.new} new files", end="" if CLEAR else "\n")
        self.keep_cursor(cursor)

    def copy(self, document: dict[str, Any]) -> None:
        """Copies the files of a document."""
        title = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\s]+', " ", document["title"])
        title = title.encode(errors="ignore")[:120].decode(errors="ignore").strip(" .")
        for kind in KINDS:
            file = f"{document['id']} {kind}.pdf"
            if file in self.known:
                continue
            try:
                content = get(self.api, document["links"]["download"], type=kind).content
            except Missing:  # deleted since it was listed
                continue
            except Failed as exc:  # one bad file must not stop the others
                log(f"{file}: {exc}")
                self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
                if self.in_a_row == 10:  # the files are not the cause
                    raise
                continue
            name = f"{document['completedAt'][:10]} {title or 'agreement'} {file}"
            self.save(name, content)
            # After the file: none is lost.
            with named(self.state), self.state.open("a", encoding="utf-8") as lines:
                lines.write(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
            self.known.add(file)
            self.new, self.in_a_row = self.new + 1, 0

    def keep_cursor(self, cursor: str) -> None:
        """Saves the cursor, unless a file that precedes it is still to be copied."""
        if not self.failed:
            size = self.state.stat().st_size
            text = f"{self.seal(cursor, size)} {size} {cursor}\n"
            save_in_folder(self.cursor.parent, self.cursor.name, text.encode())

    def kept_cursor(self) -> str:
        """Returns the cursor, if the state still has all that it had when the cursor was saved.

        Raises:
            Expired: It has not, or there is no cursor, or it was damaged.
        """
        try:
            seal, size, cursor = self.cursor.read_text(encoding="utf-8").split()
            if seal == self.seal(cursor, int(size)):
                return cursor
        except (FileNotFoundError, ValueError):
            pass
        raise Expired

    def seal(self, cursor: str, size: int) -> str:
        """Returns a digest of the cursor and of the state's first bytes."""
        return hashlib.sha256(cursor.encode() + self.state.read_bytes()[:size]).hexdigest()


def log(text: str, end: str = "\n") -> None:
    print(f"{CLEAR}{text}", end=end, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument(
        "--state", type=Path, help="TARGET/SHA256SUMS; for a bucket, a file in the current folder"
    )
    options = parser.parse_args()
    if missing := [name for name in ("DTD_BASE_URL", "DTD_API_KEY") if not os.environ.get(name)]:
        sys.exit(f"Set {' and '.join(missing)}; see --help.")
    base, key = os.environ["DTD_BASE_URL"], os.environ["DTD_API_KEY"].strip()
    if not (key.isascii() and key.isprintable()):
        sys.exit("DTD_API_KEY has a character that is in no key; copy it again.")
    try:
        if options.target.startswith("s3://"):
            url = options.target.removeprefix("s3://").strip("/")
            save = bucket(url)
            state = Path(f"{quote(url, safe='')}.SHA256SUMS")
        else:
            save = partial(save_in_folder, Path(options.target))
            state = Path(options.target, "SHA256SUMS")
        headers = {"Authorization": f"Bearer {key}"}
        state = options.state or state
        with alone(state), httpx.Client(base_url=base, headers=headers, timeout=60) as api:
            Copier(api, save, state).run()
    except KeyboardInterrupt:
        sys.exit("Interrupted; the next run goes on from here.")
    except OSError as exc:
        sys.exit(f"{exc.filename or type(exc).__name__}: {exc.strerror or exc}")
    except (ValueError, httpx.HTTPError, httpx.InvalidURL) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")
    finally:
        log("", end="")


if __name__ == "__main__":
    main()
