"""Ids that cannot be: given twice in the file, or taken by something else in the database."""

import errno
import sqlite3
from collections.abc import Iterable, Sequence
from uuid import UUID

from documents.importing.checking import Record
from documents.importing.problems import Problems
from documents.models import Document, Recipient
from workspaces.models import Workspace


class Seen:
    """The ids that a file has stated so far, with their lines: in a temporary file.

    In memory they would be most of what an import takes: four ids a document, 150 bytes each.
    """

    def __init__(self) -> None:
        self._table = sqlite3.connect("")  # a file without a name, gone when it is closed
        self._table.execute("PRAGMA journal_mode = OFF")
        self._table.execute("CREATE TABLE seen (id BLOB PRIMARY KEY, line INTEGER) WITHOUT ROWID")

    def note(self, id: bytes, line: int) -> int | None:
        """The line that had the id before; None when this is the first one.

        Raises:
            OSError: the temporary file cannot be written.
        """
        try:
            new = self._table.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (id, line))
            if new.rowcount:
                return None
            before = self._table.execute("SELECT line FROM seen WHERE id = ?", (id,))
            found: int = before.fetchone()[0]
            return found
        except sqlite3.Error as exc:
            raise OSError(errno.EIO, f"temporary file: {exc}") from exc

    def close(self) -> None:
        self._table.close()


class Identities:
    """The ids of one file, and what the database has under them."""

    def __init__(self, workspace: Workspace, problems: Problems) -> None:
        self.workspace = workspace
        self.problems = problems
        self._documents, self._recipients = Seen(), Seen()

    def close(self) -> None:
        self._documents.close()
        self._recipients.close()

    def check(self, batch: Sequence[Record]) -> None:
        """Notes the problems of some documents' ids; two queries."""
        documents = _given(batch, document=True)
        recipients = _given(batch, document=False)
        workspaces = dict(
            Document.objects.filter(pk__in=documents).values_list("pk", "workspace_id")
        )
        owners = dict(Recipient.objects.filter(pk__in=recipients).values_list("pk", "document_id"))
        for record in batch:
            place = record.place(self.problems)
            for field, given in record.given_ids.items():
                document = field == "id"
                seen = self._documents if document else self._recipients
                before = seen.note(given.bytes, record.line)
                if before is not None:
                    place.add(field, f"{given} is on line {before} already")
                if document and workspaces.get(given, self.workspace.pk) != self.workspace.pk:
                    place.add(field, f"{given} belongs to another workspace")
                if not document and owners.get(given, record.columns["id"]) != record.columns["id"]:
                    place.add(field, f"{given} belongs to a recipient of another document")


def _given(batch: Iterable[Record], *, document: bool) -> list[UUID]:
    return [
        given
        for record in batch
        for field, given in record.given_ids.items()
        if (field == "id") is document
    ]
