"""The list of documents in the admin, and how they are found."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet
from django.http import QueryDict

from audit.admin.search import beginning_in, ids_in
from audit.admin.workspace_filter import WorkspaceField, own_workspace_field
from config.api.errors import InvalidParameter
from config.console.changelist import AFTER, FilterForm, KeysetChangeList, SearchField, any_of
from config.console.keyset import Page, Position
from documents.api.documents import DocumentPosition
from documents.models import Document, DocumentStatus, RecipientStatus
from documents.search.parameters import SORTS, TEXT_MAX, WORDS_EXPECTED, Range, Search
from documents.search.queries import search

MOST = 10  # documents whose ids begin with the same digits


def day(label: str) -> forms.DateField:
    widget = forms.DateInput({"type": "date", "max": "9999-12-31"}, format="%Y-%m-%d")
    return forms.DateField(label=label, help_text="UTC", required=False, widget=widget)


def midnight(day: date | None) -> datetime | None:
    return datetime.combine(day, time.min, UTC) if day else None


class DocumentFilter(FilterForm):
    """Finds documents by their ids, or as the API does within a workspace.

    Args:
        documents: those that the user may see.
        own: the workspaces that the user may choose from, id → what to call it; None for all.
    """

    q = SearchField(
        "The id, its first 8 characters, or a URL of the API with it; within a workspace, words of "
        "the title, or a recipient’s whole e-mail",
        "Document id or title",
    )
    workspace: forms.Field = WorkspaceField()
    status = any_of("Status", DocumentStatus.choices)
    recipient = forms.CharField(
        label="Recipient’s e-mail", help_text="Whole", required=False, max_length=TEXT_MAX
    )
    recipient_status = any_of("Recipient’s status", RecipientStatus.choices)
    created_from, created_before = day("Created from"), day("Created before")
    ids: list[UUID]  # what `q` finds, whatever other filters but the workspace say

    def __init__(
        self, data: QueryDict, documents: QuerySet[Document], own: Mapping[UUID, str] | None
    ) -> None:
        super().__init__(data)
        self.documents, self.own = documents, own
        if own is not None:
            field = self.fields["workspace"] = own_workspace_field(own)
            field.choices = [("", "Choose one"), *((str(id), own[id]) for id in own)]

    def clean_workspace(self) -> UUID | None:
        chosen: UUID | None = self.cleaned_data["workspace"]
        return next(iter(self.own)) if not chosen and self.own and len(self.own) == 1 else chosen

    def clean(self) -> None:
        text, workspace_id = self.cleaned_data.get("q", ""), self.cleaned_data.get("workspace")
        self.ids = ids_in(text)
        if digits := beginning_in(text):
            self.ids = beginning_with(digits, self.documents)
        if text and not self.ids and not digits and not workspace_id:
            self.add_error(
                "q", "There is no document id in this. An id is a UUID. Or choose a workspace."
            )

    def search(self) -> Search:
        values, text = self.cleaned_data, self.cleaned_data["q"]
        email = text if "@" in text and not values["recipient"] else ""
        bounds = [midnight(values[f"created_{end}"]) for end in ("from", "before")]
        return Search(
            (values["status"],) if values["status"] else (),
            values["recipient"] or email or None,
            values["recipient_status"] or None,
            None if email else text or None,
            (Range("created", *bounds),) if any(bounds) else (),
            SORTS[0],
        )

    def page(self, after: Position | None, size: int) -> Page:
        """The next documents. The form is valid; words that are not become its error."""
        workspace_id = self.cleaned_data["workspace"]
        ids: list[Any] = self.ids
        older, within = None, Q()
        if workspace_id:
            within = Q(workspace_id=workspace_id)
            if not ids:
                position = DocumentPosition(after.created_at, after.id) if after else None
                try:
                    found = search(workspace_id, self.search(), position, size)
                except InvalidParameter:
                    self.add_error("q", f"Type an id, or {WORDS_EXPECTED}.")
                    return Page([], None, None)
                ids = [UUID(id) for id, *_ in found.rows]
                older = found.next and Position(*found.next)
        rows = self.documents.filter(within, pk__in=ids).order_by("-created_at", "-id")
        return Page(list(rows), None, older)


def beginning_with(digits: str, documents: QuerySet[Document]) -> list[UUID]:
    first, last = (UUID(digits + d * 24) for d in "0f")
    found = documents.filter(pk__gte=first, pk__lte=last).order_by("pk")
    return list(found.values_list("pk", flat=True)[:MOST])


class DocumentChangeList(KeysetChangeList):
    form: DocumentFilter

    def get_page(self, after: Position | None, before: Position | None) -> Page:
        if not self.form.is_valid():
            return Page([], None, None)
        return self.form.page(after, self.list_per_page)

    @property
    def is_first(self) -> bool:
        return AFTER not in self.params

    @property
    def empty_text(self) -> str:
        values = self.form.cleaned_data
        if values["q"] and not values["workspace"]:
            if self.form.own is not None:
                return "No document of your workspaces has this id."
            return "No document has this id. Deleted documents are found too."
        if not values["workspace"]:
            return "Search for the id of a document, or choose a workspace."
        if self.older_url:
            return "Nothing matches on this page. Older documents may match."
        if not self.is_first:
            return "Nothing older matches."
        if self.form.changed_data not in ([], ["workspace"]):
            return "No document of this workspace matches, or has this id."
        return "This workspace has no documents."
