"""`dtd pull`: copies every completed agreement once, its signed PDF and its certificate.

The state lists the copied files as sha256sum does: remove a line to copy that file again. Beside
it, STATE.cursor says after which event the next run goes on, and STATE.workspace has the id of the
workspace, so that agreements of two are never mixed; it is locked while a run lasts. Without a good
cursor a run lists all agreements.
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
from urllib.parse import quote

from dtd import errors
from dtd.client import Client
from dtd.command.output import log
from dtd.download import is_locked
from dtd.models import Document

KINDS = ("signed", "certificate")
LOCKED = 75  # exit status: EX_TEMPFAIL of sysexits.h
# A line of the state, as sha256sum writes it: the digest and the name, which ends in "ID KIND.pdf".
LINE = re.compile(rb"^[0-9a-f]{64}  .+ ([0-9a-f-]{36} (?:signed|certificate)\.pdf)\n", re.MULTILINE)
MISSING = (errors.DocumentNotFound, errors.DocumentNotComplete)  # deleted since, for example
Save = Callable[[str, str, str], bytes]  # id, kind and name → SHA-256


def pull(client: Client, options: Namespace) -> int:
    if options.target.startswith("s3://"):
        url = options.target.removeprefix("s3://").strip("/")
        save, state = bucket(client, url), Path(f"{quote(url, safe='')}.SHA256SUMS")
    else:
        folder = Path(options.target)
        save, state = in_folder(client, folder), folder / "SHA256SUMS"
    state = options.state or state
    state.parent.mkdir(parents=True, exist_ok=True)
    workspace = state.with_name(f"{state.name}.workspace")
    with workspace.open("a") as file:  # the lock of a run that was killed is gone
        if is_locked(file, workspace):
            return Copier(client, save, state).run()
    log(f"Another run uses {state}, so this one copies nothing.")
    return LOCKED


def in_folder(client: Client, folder: Path) -> Save:
    def save(id: str, kind: str, name: str) -> bytes:
        with client.download(id, type=kind, to=folder / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()

    return save


def bucket(client: Client, url: str) -> Save:
    """Saves objects in S3, which refuses content that arrives damaged."""
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as exc:
        raise ValueError("A bucket needs boto3: pip install 'dtd-client[s3]'") from exc
    bucket, _, prefix = url.partition("/")
    try:
        config = Config(region_name=os.environ.get("AWS_REGION"), s3={"addressing_style": "path"})
        s3 = boto3.client("s3", config=config)
    except BotoCoreError as exc:
        raise errors.Error(f"s3://{url}: {exc}") from exc

    def save(id: str, kind: str, name: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = client.download(id, type=kind, to=folder)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
                file.seek(0)
                try:
                    s3.put_object(
                        Bucket=bucket,
                        Key=f"{prefix}/{name}".lstrip("/"),
                        Body=file,
                        ChecksumSHA256=base64.b64encode(digest).decode(),
                        ContentType="application/pdf",
                    )
                except (BotoCoreError, ClientError) as exc:
                    raise errors.Error(f"s3://{url}: {exc}") from exc
        return digest

    return save


def replace(path: Path, content: bytes) -> None:
    """Saves a file as a whole or not at all, whatever happens."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


class Copier:
    """Copies what the state does not list yet.

    Attributes:
        known: the files that the state lists, each as "ID KIND.pdf".
        new, failed: how many files were copied, and how many could not be.
    """

    def __init__(self, client: Client, save: Save, state: Path) -> None:
        self.client, self.save, self.state = client, save, state
        self.cursor = state.with_name(f"{state.name}.cursor")
        self.workspace = state.with_name(f"{state.name}.workspace")
        self.new = self.failed = self.in_a_row = 0
        state.touch()
        content = state.read_bytes()
        self.known = {line[1].decode() for line in LINE.finditer(content)}
        whole = b"".join(line[0] for line in LINE.finditer(content))
        if whole != content:  # it was damaged, or its last line is not whole
            replace(state, whole)

    def run(self) -> int:
        if not self.workspace.read_text(encoding="utf-8"):
            self.check_workspace()
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
        return int(bool(self.failed))

    def copy_since(self, cursor: str) -> None:
        """Copies what the events after the cursor name."""
        for page in self.client.event_pages(after=cursor, type="document.completed"):
            for id in (event.data.id for event in page.data):
                if not all(f"{id} {kind}.pdf" in self.known for kind in KINDS):
                    with contextlib.suppress(*MISSING):
                        document = self.client.document(id)
                        if document.status == "COMPLETED":
                            self.copy(document)
            self.keep_cursor(page.next_cursor or "")

    def check_workspace(self) -> int:
        """Returns how many completed documents the workspace has; the state must be of it."""
        me = self.client.me()
        before = self.workspace.read_text(encoding="utf-8").strip()
        if not before:
            self.workspace.write_text(f"{me.workspace.id}\n", encoding="utf-8")
        elif before != me.workspace.id:
            raise errors.Error(
                f"{self.state} is of the workspace {before}, and this key is of {me.workspace.id} "
                f"({me.workspace.name}). Choose another TARGET for it, or another --state."
            )
        return me.documents.completed

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
        self.keep_cursor(page.next_cursor or "")

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
                digest = self.save(document.id, kind, name)
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
            with self.state.open("a", encoding="utf-8") as lines:  # after the file: none is lost
                lines.write(f"{digest.hex()}  {name}\n")
            self.known.add(file)
            self.new, self.in_a_row = self.new + 1, 0

    def keep_cursor(self, cursor: str) -> None:
        """Saves the cursor, unless a file that precedes it is still to be copied."""
        if not self.failed:
            size = self.state.stat().st_size
            replace(self.cursor, f"{self.seal(cursor, size)} {size} {cursor}\n".encode())

    def kept_cursor(self) -> str:
        """The cursor, if the state still has all that it had when the cursor was saved."""
        try:
            seal, size, cursor = self.cursor.read_text(encoding="utf-8").split()
            return cursor if seal == self.seal(cursor, int(size)) else ""
        except (FileNotFoundError, ValueError):
            return ""

    def seal(self, cursor: str, size: int) -> str:
        """A digest of the cursor and of the state's first bytes."""
        return hashlib.sha256(cursor.encode() + self.state.read_bytes()[:size]).hexdigest()
