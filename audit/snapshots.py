"""An entry's copies of what it is about; their fields are columns of the log."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, kw_only=True)
class WorkspaceSnapshot:
    workspace_id: UUID
    workspace_name: str


@dataclass(frozen=True, kw_only=True)
class KeySnapshot(WorkspaceSnapshot):
    key_id: UUID
    key_name: str
    key_prefix: str

    @classmethod
    def of(cls, key: Any) -> "KeySnapshot":
        """Of an API key, or of the `ActiveKey` of a request."""
        return cls(
            workspace_id=key.workspace_id,
            workspace_name=key.workspace_name,
            key_id=key.id,
            key_name=key.name,
            key_prefix=key.prefix,
        )


@dataclass(frozen=True, kw_only=True)
class DocumentSnapshot:
    document_id: UUID
    document_title: str


@dataclass(frozen=True, kw_only=True)
class FileSnapshot:
    file_type: str
    file_sha256: str
    byte_range: str = ""  # that a download asks for: "0-99/200"; "" for the whole file
