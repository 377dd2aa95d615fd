"""`dtd pull`: copies every completed agreement once, its signed PDF and its certificate.

The state lists the copied files as sha256sum does: remove a line to copy that file again. Comments
in it name the workspace, so that agreements of two are never mixed, and the event after which the
next run goes on. Without a good one a run lists all agreements. A run locks the state.
"""

import base64
import contextlib
import hashlib
import os
import re
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import IO
from urllib.parse import quote

from dtd import errors
from dtd.client import Client
from dtd.command.output import log
from dtd.download import is_locked
from dtd.models import Document

KINDS = ("signed", "certificate")
LOCKED = 75  # exit status: EX_TEMPFAIL of sysexits.h
# A line of the state, as sha256sum writes it: the digest and the name, which ends in "ID KIND.pdf".
LINE = re.compile(rb"^[0-9a-f]{64}  .+ ([0-9a-f-]{36} (?:signed|certificate)\.pdf)$", re.MULTILINE)
WORKSPACE = re.compile(rb"^# workspace (\S+)$", re.MULTILINE)
# A digest of all that precedes, and the cursor.
CURSOR = re.compile(rb"^# after ([0-9a-f]{64}) (\S+)\n", re.MULTILINE)
MISSING = (errors.DocumentNotFound, errors.DocumentNotComplete)  # deleted since, for example
Upload = Callable[[Path, bytes], None]  # file and its SHA-256


def pull(client: Client, options: Namespace) -> int:
    """Copy what is completed: each signed PDF and certificate, once.

    example:
      dtd pull ./archive
      dtd pull s3://bucket/prefix   # needs: pip install 'dtd-client[s3]'
    """
    if options.target.startswith("s3://"):
        return to_bucket(client, options)
    folder = Path(options.target)
    return to_folder(client, folder, options.state or folder / "SHA256SUMS")


def to_bucket(client: Client, options: Namespace) -> int:
    """Moves each file from a folder to S3, which refuses content that arrives damaged."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    url = options.target.removeprefix("s3://").strip("/")
    bucket, _, prefix = url.partition("/")
    config = Config(region_name=os.environ.get("AWS_REGION"), s3={"addressing_style": "path"})

    def upload(path: Path, digest: bytes) -> None:
        with path.open("rb") as file:
            s3.put_object(
                Bucket=bucket,
                Key=f"{prefix}/{path.name}".lstrip("/"),
                Body=file,
                ChecksumSHA256=base64.b64encode(digest).decode(),
                ContentType="application/pdf",
            )
        path.unlink()

    state = options.state or Path(f"{quote(url, safe='')}.SHA256SUMS")
    try:
        s3 = boto3.client("s3", config=config)
        with tempfile.TemporaryDirectory() as folder:
            return to_folder(client, Path(folder), state, upload)
    except (BotoCoreError, ClientError) as exc:
        raise errors.Error(f"s3://{url}: {exc}") from exc


def to_folder(
    client: Client, folder: Path, state: Path, upload: Upload = lambda path, digest: None
) -> int:
    """Copies, unless another run does."""
    state.parent.mkdir(parents=True, exist_ok=True)
    with state.open("a+b") as file:  # the lock of a run that was killed is gone
        if is_locked(file, state):
            return Copier(client, folder, upload, file).run()
    log(f"Another run uses {state}, so this one copies nothing.")
    return LOCKED


class Copier:
    """Copies what the state does not list yet.

    Attributes:
        known: the files that the state lists, each as "ID KIND.pdf".
        new, failed: how many files were copied, and how many could not be.
    """

    def __init__(self, client: Client, folder: Path, upload: Upload, state: IO[bytes]) -> None:
        self.client, self.folder, self.upload, self.state = client, folder, upload, state
        self.new = self.failed = self.in_a_row = 0
        state.truncate(self.content().rfind(b"\n") + 1)  # a crash may have left half a line
        self.known = {line[1].decode() for line in LINE.finditer(self.content())}

    def content(self) -> bytes:
        self.state.seek(0)
        return self.state.read()

    def append(self, line: str) -> None:
        self.state.write(f"{line}\n".encode())
        self.state.flush()

    def run(self) -> int:
        if cursor := self.kept_cursor():
            try:
                self.copy_since(cursor)
            except (errors.CursorExpired, errors.InvalidParameter) as exc:
                log(f"{exc} Listing all agreements.")
                cursor = ""
        if not cursor:
            self.copy_all()
        log(f"{self.new} new files.")
        if self.failed:
            log(f"Not copied: {self.failed}. The next run tries again.")
        return int(self.failed > 0)

    def copy_since(self, cursor: str) -> None:
        """Copies what the events after the cursor name."""
        for page in self.client.event_pages(after=cursor, type="document.completed"):
            for id in (event.data.id for event in page.data):
                if not all(f"{id} {kind}.pdf" in self.known for kind in KINDS):
                    with contextlib.suppress(*MISSING):
                        document = self.client.document(id)
                        if document.status == "COMPLETED":
                            self.copy(document)
            self.keep_cursor(page.next_cursor)

    def copy_all(self) -> None:
        """Copies all completed documents. Those that are completed meanwhile are for the next run:
        they may be on pages that were already read."""
        [page] = self.client.event_pages(after="now")
        total, began, bar = self.check_workspace(), time.monotonic(), sys.stderr.isatty()
        for seen, document in enumerate(self.client.documents(status="COMPLETED"), 1):
            self.copy(document)
            if bar or seen % 100 == 0:
                total, seconds = max(seen, total), time.monotonic() - began
                left = timedelta(seconds=int(seconds / seen * (total - seen)))
                log(
                    f"[{'#' * (30 * seen // total):30}] {seen} of {total} agreements, {self.new} "
                    f"new files, {self.new / seconds:.1f} a second, {left} left",
                    end="" if bar else "\n",
                )
        self.keep_cursor(page.next_cursor)

    def check_workspace(self) -> int:
        """Returns how many completed documents the workspace has; the state must be of it."""
        me = self.client.me()
        if not (found := WORKSPACE.search(self.content())):
            self.append(f"# workspace {me.workspace.id}")
        elif (before := found[1].decode()) != me.workspace.id:
            raise errors.Error(
                f"{self.state.name} is of the workspace {before}, and this key is of "
                f"{me.workspace.id} ({me.workspace.name}). Choose another TARGET for it, or "
                "another --state."
            )
        return me.documents.completed

    def copy(self, document: Document) -> None:
        """Copies the files of a document."""
        title = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\s]+', " ", document.title)
        title = title.encode(errors="ignore")[:120].decode(errors="ignore").strip(" .")
        for kind in KINDS:
            file = f"{document.id} {kind}.pdf"
            if file in self.known:
                continue
            name = f"{document.raw['completedAt'][:10]} {title or 'agreement'} {file}"
            try:
                path = self.client.download(document.id, type=kind, to=self.folder / name)
            except MISSING:
                continue
            except (errors.APIError, errors.ConnectionFailed, errors.DamagedFile) as exc:
                if isinstance(exc, errors.APIError) and exc.status < 500 and exc.status != 429:
                    raise
                log(f"{file}: {exc}")  # one bad file must not stop the others
                self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
                if self.in_a_row == 10:  # the files are not the cause
                    raise
                continue
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256")
            self.upload(path, digest.digest())
            self.append(f"{digest.hexdigest()}  {name}")  # after the file: none is lost
            self.known.add(file)
            self.new, self.in_a_row = self.new + 1, 0

    def keep_cursor(self, cursor: str | None) -> None:
        """Saves the cursor, unless a file that precedes it is still to be copied."""
        if not self.failed:
            content = self.content()
            for last in re.finditer(CURSOR.pattern + rb"\Z", content, re.MULTILINE):
                content = content[: last.start()]
                self.state.truncate(len(content))
            self.append(f"# after {hashlib.sha256(content).hexdigest()} {cursor}")

    def kept_cursor(self) -> str:
        """The last cursor before which the state still has all that it had."""
        content = self.content()
        for found in reversed([*CURSOR.finditer(content)]):
            if found[1].decode() == hashlib.sha256(content[: found.start()]).hexdigest():
                return found[2].decode()
        return ""
