"""A folder to import: a file of documents, and PDFs beside it."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import boto3
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from documents import storage
from documents.models import Document, Recipient, StoredFile
from tests.support.factories import pdf
from workspaces.models import Workspace

Value = dict[str, Any]


def objects() -> set[str]:
    """The keys of all objects in object storage.

    The S3 server reads each object for a listing, which takes longer than the service would wait.
    """
    options = settings.STORAGES["default"]["OPTIONS"]
    store = boto3.resource(
        "s3",
        endpoint_url=options["endpoint_url"],
        aws_access_key_id=options["access_key"],
        aws_secret_access_key=options["secret_key"],
        region_name=options["region_name"],
    )
    return {each.key for each in store.Bucket(options["bucket_name"]).objects.all()}


def rows() -> list[int]:
    """How many documents, recipients and files the database has."""
    return [model._default_manager.count() for model in (Document, Recipient, StoredFile)]


class Inbox:
    """The folder; it has original.pdf (2 pages), signed.pdf (3) and certificate.pdf (1)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "documents.jsonl"
        for name, pages in (("original", 2), ("signed", 3), ("certificate", 1)):
            self.put(f"{name}.pdf", pdf(f"the {name}", pages))

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def content(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def write(self, *values: Value) -> None:
        self.file.write_text("".join(json.dumps(value) + "\n" for value in values))

    def run(self, workspace: Workspace | UUID | str, *options: str) -> Value:
        """Imports the file; the counts that the command prints."""
        key = workspace.pk if isinstance(workspace, Workspace) else workspace
        out = io.StringIO()
        call_command("import_documents", str(key), str(self.file), *options, stdout=out)
        counts: Value = json.loads(out.getvalue())
        if not counts.pop("refused"):
            return counts
        raise AssertionError("the command fails if it refuses a line")

    def problems(self, workspace: Workspace, *options: str) -> tuple[list[str], str, str]:
        """Imports the file; the lines about it, what is printed, and the error in the end."""
        out, err = io.StringIO(), io.StringIO()
        words = ("import_documents", str(workspace.pk), str(self.file), *options)
        with pytest.raises(CommandError) as caught:
            call_command(*words, stdout=out, stderr=err)
        assert caught.value.returncode == 1
        said = [line for line in err.getvalue().splitlines() if not line.endswith(" …")]
        return said, out.getvalue(), str(caught.value)

    def take(self, workspace: Workspace, *values: Value) -> Value:
        self.write(*values)
        return self.run(workspace)


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    """A folder to import; objects that a test adds are removed after it."""
    before = objects()
    yield Inbox(tmp_path)
    storage.delete(objects() - before)


def signer(**fields: Any) -> Value:
    """A recipient, as the API lists one."""
    return {
        "name": "Zoë Brückner",
        "email": "zoe@example.com",
        "role": "SIGNER",
        "status": "SENT",
        "order": 1,
        "sentAt": "2026-03-01T09:30:00Z",
        "viewedAt": None,
        "completedAt": None,
        "declinedAt": None,
        "declineReason": None,
        **fields,
    }


def sent(**fields: Any) -> Value:
    return {
        "title": "Lease",
        "status": "SENT",
        "fileName": "lease.pdf",
        "signingOrder": "PARALLEL",
        "createdAt": "2026-03-01T09:00:00Z",
        "sentAt": "2026-03-01T09:30:00Z",
        "recipients": [signer()],
        "files": {"original": "original.pdf"},
        **fields,
    }


def completed(**fields: Any) -> Value:
    return {
        **sent(status="COMPLETED", completedAt="2026-03-02T10:00:00Z"),
        "files": {name: f"{name}.pdf" for name in ("original", "signed", "certificate")},
        **fields,
    }
