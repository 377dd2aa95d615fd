"""Makes the objects that tests need, in one line each; ids are given where a body is compared."""

import hashlib
import io
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from pypdf import PdfWriter

from apikeys.models import ApiKey
from documents import storage
from documents.models import Document, DocumentStatus, Recipient, SigningOrder, StoredFile
from tests.support.client import Response, get
from workspaces.models import Membership, Workspace

# Keys of objects in object storage, which are deleted after the test.
saved_objects: list[str] = []


def uid(number: int, kind: int = 0) -> UUID:
    """A version 4 UUID that is the same in every run; `kind` keeps kinds of things apart."""
    return UUID(f"{kind:08x}-0000-4000-8000-{number:012x}")


def at(text: str) -> datetime:
    """A UTC instant: "2026-03-01 09:30:00"."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True)
class Tenant:
    """A workspace with its admin and one key, and a client that uses it."""

    workspace: Workspace
    admin: User
    key: ApiKey
    raw: str

    @property
    def bearer(self) -> str:
        return f"Bearer {self.raw}"

    def get(self, path: str, method: str = "GET", **headers: str) -> Response:
        """Requests a path in process, with the key; `path` is without /api/v1."""
        return get(f"/api/v1{path}", self.bearer, method, **headers)


def user(login: str, **fields: Any) -> User:
    """A user without a password: hashing one takes long, by design. No entry is recorded."""
    known = User.objects.filter(username=login).first()
    return known or User.objects.bulk_create([User(username=login, email=login, **fields)])[0]


def tenant(name: str, plan: str, number: int, *, suspended: bool = False) -> Tenant:
    """A workspace with the id `uid(number, 1)`; its key has `uid(number, 2)`."""
    workspace = Workspace.objects.create(
        id=uid(number, 1), name=name, plan=plan, suspended=suspended
    )
    admin = user(f"admin@{name.lower()}.example", is_staff=True)
    Membership.objects.create(workspace=workspace, user=admin, role=Membership.Role.ADMIN)
    key, raw = issue(workspace, f"{name} sync", admin, id=uid(number, 2))
    return Tenant(workspace, admin, key, raw)


def issue(workspace: Workspace, name: str, by: User, id: UUID | None = None) -> tuple[ApiKey, str]:
    """A key, issued as an admin does it, and its raw text."""
    return ApiKey.objects.issue(workspace=workspace, name=name, by=by, id=id)


@cache
def pdf(text: str, pages: int = 1) -> bytes:
    """A PDF of empty pages that has `text` as its title."""
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(595, 842)  # A4, in points
    writer.add_metadata({"/Title": text})
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


def stored(content: bytes) -> StoredFile:
    """A file in object storage and its row."""
    object_key = storage.save(io.BytesIO(content))
    saved_objects.append(object_key)
    return StoredFile.objects.create(
        object_key=object_key, size=len(content), sha256=hashlib.sha256(content).hexdigest()
    )


def document(
    workspace: Workspace, status: str = "SENT", *, content: bytes | None = None, **fields: Any
) -> Document:
    """A document with its real files: the original, and the other two when it is complete."""
    title = fields.setdefault("title", f"{status.capitalize()} agreement")
    pages = fields.setdefault("page_count", 2)
    original = content or pdf(f"{title}: original", pages)
    if status == DocumentStatus.COMPLETED:
        fields.setdefault("completed_at", at("2026-03-03 12:00:00"))
        fields.setdefault("signed", stored(pdf(f"{title}: signed", pages)))
        fields.setdefault("certificate", stored(pdf(f"{title}: certificate")))
    return Document.objects.create(
        workspace=workspace,
        status=status,
        original=stored(original),
        **{
            "file_name": "agreement.pdf",
            "file_size": len(original),
            "signing_order": SigningOrder.PARALLEL,
            **fields,
        },
    )


def numbered(fields: dict[str, Any], number: int) -> dict[str, Any]:
    """The fields of a row of many; a function is called with the row's number, from 0."""
    return {name: value(number) if callable(value) else value for name, value in fields.items()}


def listed(workspace: Workspace, count: int, **fields: Any) -> list[Document]:
    """Many documents, to be listed; their files are rows without objects."""
    files = StoredFile.objects.bulk_create(
        StoredFile(object_key=f"none/{uuid4().hex}.pdf", size=1000, sha256="0" * 64)
        for _ in range(count)
    )
    return Document.objects.bulk_create(
        Document(
            workspace=workspace,
            original=file,
            **{
                "title": f"Agreement {number}",
                "status": "SENT",
                "file_name": "agreement.pdf",
                "page_count": 2,
                "file_size": 1000,
                "signing_order": "PARALLEL",
                **numbered(fields, number),
            },
        )
        for number, file in enumerate(files)
    )


def recipient(
    document: Document, role: str = "SIGNER", status: str = "SENT", **fields: Any
) -> Recipient:
    return Recipient.objects.create(
        document=document,
        role=role,
        status=status,
        **{"name": "Ada Lovelace", "email": "ada@example.com", "order": 1, **fields},
    )
