"""Ids that cannot be: given twice in the file, or taken by something else in the database."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from documents.importing.checking import Record
from documents.importing.problems import Problems
from documents.models import Document, Recipient
from workspaces.models import Workspace


class Identities:
    """The ids of one file, and what the database has under them.

    Remembers every id that the file states, with its line: about 150 bytes each.
    """

    def __init__(self, workspace: Workspace, problems: Problems) -> None:
        self.workspace = workspace
        self.problems = problems
        self._seen: dict[tuple[bool, bytes], int] = {}

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
                key = (document, given.bytes)
                if key in self._seen:
                    place.add(field, f"{given} is on line {self._seen[key]} already")
                self._seen.setdefault(key, record.line)
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
