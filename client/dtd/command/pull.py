"""`dtd pull`: copies every completed agreement once, its signed PDF and its certificate.

The state lists the copied files as sha256sum does: remove a line to copy that file again. Comments
in it name the workspace, so that agreements of two are never mixed, and the event after which the
next run goes on. Without a good one a run lists all agreements. A run locks the state.
"""

import errno
import hashlib
import os
import re
import sys
import time
from argparse import Namespace
from base64 import b64encode
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
from dtd.download import fitting, is_locked, open_file
from dtd.errors import printable
from dtd.models import Document

KINDS = ("signed", "certificate")
LOCKED = 75  # exit status: EX_TEMPFAIL of sysexits.h
FULL = (errno.ENOSPC, errno.EDQUOT)
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
      dtd pull s3://bucket/prefix   # needs: pip install boto3
    """
    with ExitStack() as stack:
        if options.target.startswith("s3://"):
            url = options.target.removeprefix("s3://").strip("/")
            folder, upload = stack.enter_context(TemporaryDirectory()), stack.enter_context(s3(url))
            state = options.state or Path(f"{quote(url, safe='')}.SHA256SUMS")
        else:
            folder, upload = options.target, lambda path: None
            state = options.state or Path(folder, "SHA256SUMS")
        for each in (Path(folder), state.parent):
            each.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context(open_file(state))
        if is_locked(file, state):  # the lock of a run that was killed is gone
            return Copier(client, Path(folder), upload, file).run()
    log(f"Another run uses {state}, so this one copies nothing.")
    return LOCKED


@contextmanager
def s3(url: str) -> Iterator[Upload]:
    """A function that moves a file to a bucket, and asks what has arrived there."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, _, prefix = url.partition("/")
    region = os.environ.get("AWS_REGION")  # by default, some stores keep a checksum's framing:
    config = Config(region_name=region, request_checksum_calculation="when_required")

    def upload(path: Path) -> None:
        key = f"{prefix}/{path.name}".lstrip("/")
        body, kind = path.read_bytes(), "application/pdf"
        path.unlink()
        digest = hashlib.md5(body, usedforsecurity=False)
        md5 = b64encode(digest.digest()).decode()
        try:
            client.put_object(Bucket=bucket, Key=key, Body=body, ContentMD5=md5, ContentType=kind)
            there = client.head_object(Bucket=bucket, Key=key)
        except ClientError as exc:
            if exc.response["ResponseMetadata"]["HTTPStatusCode"] in (301, 401, 403, 404):
                raise  # it is about the bucket
            raise errors.DamagedFile(f"s3://{url}: {exc}") from exc
        etag = there.get("ETag", "").strip('"')  # usually an MD5
        is_md5 = re.fullmatch("[0-9a-f]{32}", etag) and "SSEKMSKeyId" not in there
        if there["ContentLength"] != len(body) or (is_md5 and etag != digest.hexdigest()):
            raise errors.DamagedFile(f"s3://{bucket}/{key} is not what was sent there.")

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
                document = None
                with self.going_on(event.data.id):
                    document = self.client.document(event.data.id)
                if document and document.status == "COMPLETED":
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
            if file not in self.known:
                with self.going_on(file):
                    self.copy_file(document, kind, file)

    @contextmanager
    def going_on(self, name: str) -> Iterator[None]:
        """One bad file must not stop the others, if the file is the cause."""
        try:
            with suppress(*errors.MISSING):
                yield
        except (OSError, errors.Error) as exc:
            log(f"{name}: {getattr(exc, 'strerror', None) or exc}")
            self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
            if isinstance(exc, OSError):
                of_all = exc.errno in FULL or not os.access(self.folder, os.W_OK | os.X_OK)
            else:
                of_all = exc.is_refusal or type(exc) is errors.Error
            if of_all or self.in_a_row == 10:
                raise

    def copy_file(self, document: Document, kind: str, file: str) -> None:
        title = re.sub(r'[<>:"/\\|?*\s]+', " ", printable(document.title)).strip(" .")
        name = f"{document.raw['completedAt'][:10]} {title or 'agreement'}"
        name = fitting(self.folder, name, f" {file}")
        path = self.client.download(document.id, type=kind, to=self.folder, name=name)
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        self.upload(path)
        self.append(f"{digest}  {name}")  # after the file: none is lost
        self.known.add(file)
        self.new, self.in_a_row = self.new + 1, 0

    def append(self, line: str) -> None:
        """Adds one line to the state, whatever the service has put into it."""
        added = f"{printable(line)}\n".encode()
        self.state.write(added)
        self.state.flush()
        self.text += added


def digest_of(content: bytes | bytearray) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
