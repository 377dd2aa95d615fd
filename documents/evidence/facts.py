"""What an evidence file says of the document itself; the tree does not prove this part."""

from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from audit.models import NEWEST_FIRST, AuditEntry
from audit.scope import Scope
from audit.snapshots import DocumentSnapshot, WorkspaceSnapshot
from documents.models import FILE_TYPES, Document


def time_text(moment: datetime | None) -> str | None:
    """As the entries have it: `2026-03-01T09:30:00.000000Z`."""
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}" if moment else None


class Trail:
    """A document and its entries, as far as they are in a scope."""

    def __init__(self, document_id: UUID, scope: Scope) -> None:
        self.document_id = document_id
        self._documents = Document.objects.filter(scope.visible(), pk=document_id)
        self.entries = AuditEntry.objects.filter(
            scope.visible(), document_id=document_id, workspace_id__isnull=False
        )

    @cached_property
    def document(self) -> Document | None:
        """The document, also a deleted one; None if its row does not exist any more."""
        return self._documents.select_related("workspace", *FILE_TYPES).first()

    def exists(self) -> bool:
        return self._documents.exists() or self.entries.exists()

    def snapshots(self) -> tuple[WorkspaceSnapshot, DocumentSnapshot]:
        """For an entry about the document; from its newest one if its row is gone."""
        if document := self.document:
            return document.workspace.snapshot(), document.snapshot()
        newest: Any = self.entries.order_by(*NEWEST_FIRST)[0]
        return WorkspaceSnapshot(
            workspace_id=newest.workspace_id, workspace_name=newest.workspace_name
        ), DocumentSnapshot(document_id=self.document_id, document_title=newest.document_title)

    def document_facts(self) -> dict[str, Any] | None:
        document = self.document
        if document is None:
            return None
        dates = ("created_at", "sent_at", "completed_at", "expires_at", "deleted_at")
        return {
            "id": str(document.id),
            "title": document.title,
            "status": document.status,
            "file_name": document.file_name,
            "workspace": {"id": str(document.workspace_id), "name": document.workspace.name},
            **{name: time_text(getattr(document, name)) for name in dates},
        }

    def files(self) -> list[dict[str, Any]]:
        """The document's files; then earlier ones, which only its entries name."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for type_ in ("original", "signed", "certificate"):
            if stored := getattr(self.document, type_, None):
                found[type_, stored.sha256] = {
                    "size": stored.size,
                    "stored_at": time_text(stored.created_at),
                }
        named = self.entries.exclude(file_sha256="").values_list("file_type", "file_sha256")
        earlier: dict[str, Any] = {"size": None, "stored_at": None}
        found |= dict.fromkeys(sorted(set(named.distinct()) - found.keys()), earlier)
        return [{"type": type_, "sha256": sha, **rest} for (type_, sha), rest in found.items()]
