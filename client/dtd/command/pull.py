"""`dtd pull`: copies every completed agreement once, its signed PDF and its certificate.

The state lists the copied files as sha256sum does: remove a line to copy that file again. Comments
in it name the workspace, so that agreements of two are never mixed, and the event after which the
next run goes on. Without a good one a run lists all agreements. A run locks the state.
"""

import codecs
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
from typing import IO, Any
from urllib.parse import quote

from dtd import errors
from dtd.client import Client
from dtd.command.output import day, log
from dtd.download import copy_of, fitting, in_utf8, is_locked, open_file
from dtd.errors import printable
from dtd.models import Document

KINDS = ("signed", "certificate")
LOCKED = 75  # exit status: EX_TEMPFAIL of sysexits.h
FULL = (errno.ENOSPC, errno.EDQUOT)
BAD_NAME = (errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ)
# A line of the state, as sha256sum writes it: the digest and the name, which ends in "ID KIND.pdf".
LINE = re.compile(rb"(?m)^[0-9a-fA-F]{64} [ *].+ ([0-9a-f-]{36} (?:signed|certificate)\.pdf)$")
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
    is_bucket = options.target.startswith("s3://")
    url = in_utf8(options.target).removeprefix("s3://").strip("/")
    if (re.match(r"\w{2,}:/", options.target) or options.sse) and not (is_bucket and url):
        raise ValueError("TARGET must be s3://BUCKET/PREFIX or, without --sse, a folder.")
    with ExitStack() as stack:
        if is_bucket:
            folder = stack.enter_context(TemporaryDirectory())
            upload = stack.enter_context(s3(url, options.sse))
            name = quote(url, safe="")
            if len(name) > 128:
                name = f"{name[:100]}-{hashlib.sha256(url.encode()).hexdigest()[:16]}"
            state = Path(options.state or f"{name}.SHA256SUMS")
        else:
            folder, upload = options.target, lambda path: None
            state = Path(options.state or Path(folder, "SHA256SUMS"))
        for each in (Path(folder), state.parent):
            each.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context(open_file(state))
        if is_locked(file, state):  # the lock of a run that was killed is gone
            if os.fstat(file.fileno()).st_nlink > 1:  # of a snapshot by hard links, which keeps it
                file = stack.enter_context(copy_of(file, state))
            return Copier(client, Path(folder), upload, file).run()
    log(f"Another run uses {state}, so this one copies nothing.")
    return LOCKED


@contextmanager
def s3(url: str, sse: str | None) -> Iterator[Upload]:
    """A function that moves a file to a bucket, and asks what has arrived there."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, _, prefix = url.partition("/")
    region = os.environ.get("AWS_REGION")  # by default, some stores keep a checksum's framing:
    config = Config(region_name=region, request_checksum_calculation="when_required")
    more: dict[str, Any] = {"ContentType": "application/pdf"}
    more |= {"ServerSideEncryption": sse} if sse else {}

    def upload(path: Path) -> None:
        key = f"{prefix}/{in_utf8(path.name)}".lstrip("/")
        body = path.read_bytes()
        path.unlink()
        digest = hashlib.md5(body, usedforsecurity=False)
        more["ContentMD5"] = b64encode(digest.digest()).decode()
        try:
            client.put_object(Bucket=bucket, Key=key, Body=body, **more)
            there = client.head_object(Bucket=bucket, Key=key)
        except ClientError as exc:
            if exc.response["ResponseMetadata"]["HTTPStatusCode"] in (301, 401, 403, 404):
                raise  # it is about the bucket
            raise errors.DamagedFile(f"s3://{url}: {exc}") from exc
        etag = there.get("ETag", "").strip('"')  # usually an MD5
        is_plain = there.get("ServerSideEncryption", "AES256") == "AES256"
        is_md5 = is_plain and re.fullmatch("[0-9a-f]{32}", etag)
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
        workspace: the id of the workspace that it names; empty at first.
        known: the files that it lists, each as "ID KIND.pdf".
        new, failed: how many files were copied, and how many could not be.
    """

    def __init__(self, client: Client, folder: Path, upload: Upload, state: IO[bytes]) -> None:
        self.client, self.folder, self.upload, self.state = client, folder, upload, state
        state.seek(0)
        found = state.read()
        text = found[: found.rfind(b"\n") + 1]  # a crash may have left half a line
        self.text = bytearray(text)
        text = text.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n")  # of an editor
        named = WORKSPACE.search(text)
        self.workspace = named[1].decode(errors="replace") if named else ""
        self.known = {line[1].decode() for line in LINE.finditer(text)}
        is_begun = b"# workspace ".startswith(found.strip(b"\0")[:12])
        if not (self.workspace or self.known or is_begun):
            raise errors.Error(f"{state.name} is no list of copies in UTF-8: use another --state.")
        state.truncate(len(self.text))
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
        if not self.workspace:
            self.append(f"# workspace {me.workspace.id}")
        elif self.workspace != me.workspace.id:
            raise errors.Error(
                f"{self.state.name} is of the workspace {self.workspace}, and this key is of "
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
        except errors.FileArchived as exc:  # however many there are, the others can be copied
            log(f"{name}: {exc}")
            self.failed += 1
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
        date = day(document.completed_at)
        name = fitting(self.folder, f"{date} {title or 'agreement'}", f" {file}")
        try:
            path = self.client.download(document.id, type=kind, to=self.folder, name=name)
        except OSError as exc:  # of FAT, a network drive or an encrypted folder
            if exc.errno not in BAD_NAME:
                raise
            name = f"{date} agreement {file}"
            path = self.client.download(document.id, type=kind, to=self.folder, name=name)
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        self.upload(path)
        self.append(f"{digest}  {in_utf8(name)}")  # after the file: none is lost
        self.known.add(file)
        self.new, self.in_a_row = self.new + 1, 0

    def append(self, line: str) -> None:
        """Adds one line to the state, whatever the service has put into it."""
        added = f"{printable(line)}\n".encode()
        try:
            self.state.write(added)
            self.state.flush()
        except OSError as exc:  # nothing more can be recorded
            with suppress(OSError):  # the same one again
                self.state.close()
            raise errors.Error(f"{self.state.name}: {exc.strerror}") from exc
        self.text += added


def digest_of(content: bytes | bytearray) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
