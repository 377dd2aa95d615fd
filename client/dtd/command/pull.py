"""`dtd pull`: copies every completed agreement once, its signed PDF and its certificate.

The state lists the copied files as sha256sum does: remove a line to copy that file again. Comments
in it name the workspace, so that agreements of two are never mixed, and the event after which the
next run goes on. Without a good one a run lists all agreements. A run locks the state.
"""

import hashlib
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
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
# All that precedes the last cursor, its digest, and the cursor.
CURSOR = re.compile(rb"(.*^)# after ([0-9a-f]{64}) (\S+)\n", re.DOTALL | re.MULTILINE)
Upload = Callable[[Path], object]


def pull(client: Client, options: Namespace) -> int:
    """Copy what is completed: each signed PDF and certificate, once.

    example:
      dtd pull ./archive
      dtd pull s3://bucket/prefix   # needs: pip install 'dtd-client[s3]'
    """
    with ExitStack() as stack:
        if options.target.startswith("s3://"):
            url = options.target.removeprefix("s3://").strip("/")
            folder, upload = stack.enter_context(TemporaryDirectory()), stack.enter_context(s3(url))
            state = options.state or Path(f"{quote(url, safe='')}.SHA256SUMS")
        else:
            folder, upload = options.target, lambda path: None
            state = options.state or Path(folder, "SHA256SUMS")
        state.parent.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context(state.open("a+b"))
        if is_locked(file, state):  # the lock of a run that was killed is gone
            return Copier(client, Path(folder), upload, file).run()
    log(f"Another run uses {state}, so this one copies nothing.")
    return LOCKED


@contextmanager
def s3(url: str) -> Iterator[Upload]:
    """A function that moves a file to a bucket, which refuses content that arrives damaged."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, _, prefix = url.partition("/")
    config = Config(region_name=os.environ.get("AWS_REGION"), s3={"addressing_style": "path"})

    def upload(path: Path) -> None:
        key = f"{prefix}/{path.name}".lstrip("/")
        with path.open("rb") as file:
            client.put_object(Bucket=bucket, Key=key, Body=file, ContentType="application/pdf")
        path.unlink()

    try:
        client = boto3.client("s3", config=config)
        yield upload
    except (BotoCoreError, ClientError) as exc:
        raise errors.Error(f"s3://{url}: {exc}") from exc


class Copier:
    """Copies what the state does not list yet.

    Attributes:
        text: the state.
        known: the files that it lists, each as "ID KIND.pdf".
        new, failed: how many files were copied, and how many could not be.
    """

    def __init__(self, client: Client, folder: Path, upload: Upload, state: IO[bytes]) -> None:
        self.client, self.folder, self.upload, self.state = client, folder, upload, state
        state.seek(0)
        self.text = bytearray(state.read())
        del self.text[self.text.rfind(b"\n") + 1 :]  # a crash may have left half a line
        state.truncate(len(self.text))
        self.known = {line[1].decode() for line in LINE.finditer(self.text)}
        self.new = self.failed = self.in_a_row = 0

    def run(self) -> int:
        kept = CURSOR.match(self.text)
        start = kept[3].decode() if kept and kept[2] == digest_of(kept[1]) else ""
        try:
            cursor = self.copy_since(start) if start else self.copy_all()
        except (errors.CursorExpired, errors.InvalidParameter) as exc:
            log(f"{exc} Listing all agreements.")
            cursor = self.copy_all()
        log(f"{self.new} new files.")
        if self.failed:
            log(f"Not copied: {self.failed}. The next run tries again.")
        elif cursor != start:
            self.append(f"# after {digest_of(self.text).decode()} {cursor}")
        return int(self.failed > 0)

    def copy_since(self, cursor: str) -> str | None:
        """Copies what the events after the cursor name. Returns the next cursor."""
        events = self.client.events(after=cursor, type="document.completed")
        for event in events:
            if not all(f"{event.data.id} {kind}.pdf" in self.known for kind in KINDS):
                with suppress(*errors.MISSING):
                    document = self.client.document(event.data.id)
                    if document.status == "COMPLETED":
                        self.copy(document)
        return events.cursor

    def copy_all(self) -> str | None:
        """Copies all completed documents. Returns the cursor before those that are completed
        meanwhile: they may be on pages that were already read."""
        events = self.client.events(after="now")
        list(events)  # there are none; now it has a cursor
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
        return events.cursor

    def check_workspace(self) -> int:
        """Returns how many completed documents the workspace has; the state must be of it."""
        me = self.client.me()
        if not (found := WORKSPACE.search(self.text)):
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
        for kind in KINDS:
            file = f"{document.id} {kind}.pdf"
            try:
                if file not in self.known:
                    self.copy_file(document, kind, file)
            except errors.MISSING:
                continue
            except (errors.APIError, errors.ConnectionFailed, errors.DamagedFile) as exc:
                log(f"{file}: {exc}")  # one bad file must not stop the others
                self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
                if self.in_a_row == 10 or exc.is_refusal:  # the files are not the cause
                    raise

    def copy_file(self, document: Document, kind: str, file: str) -> None:
        title = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\s]+', " ", document.title)
        title = title.encode(errors="ignore")[:120].decode(errors="ignore").strip(" .")
        name = f"{document.raw['completedAt'][:10]} {title or 'agreement'} {file}"
        path = self.client.download(document.id, type=kind, to=self.folder / name)
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        self.upload(path)
        self.append(f"{digest}  {name}")  # after the file: none is lost
        self.known.add(file)
        self.new, self.in_a_row = self.new + 1, 0

    def append(self, line: str) -> None:
        self.state.write(f"{line}\n".encode())
        self.state.flush()
        self.text += f"{line}\n".encode()


def digest_of(content: bytes | bytearray) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
