"""The list of documents in the admin, and how they are found."""

from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q

from audit.admin.search import beginning_in, ids_in
from audit.admin.workspace_filter import WorkspaceChoices, WorkspaceField
from config.console.changelist import AFTER, FilterForm
from documents.models import Document

MOST = 10  # documents whose ids begin with the same digits


class DocumentFilter(FilterForm):
    """Finds documents by their id or their workspace; without either of them, none.

    Titles are not searched, since no index supports it.
    """

    q = forms.CharField(
        label="Document id",
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
        help_text="The id, its first 8 characters, or a URL of the API with it",
    )
    workspace = WorkspaceField()

    def clean_q(self) -> list[UUID]:
        text: str = self.cleaned_data["q"]
        found = ids_in(text)
        if digits := beginning_in(text):
            found = documents_beginning_with(digits)
        elif text and not found:
            raise ValidationError(
                "There is no document id in this. An id is a UUID. Or choose a workspace."
            )
        return found

    def alternatives(self) -> list[Q]:
        ids, workspace_id = self.cleaned_data["q"], self.cleaned_data["workspace"]
        if self.data.get("q", "").strip():
            within = Q(workspace_id=workspace_id) if workspace_id else Q()
            return [Q(pk=id) & within for id in ids]
        # As in the index `document_newest`.
        return [Q(workspace_id=workspace_id, deleted_at=None)] if workspace_id else []


def documents_beginning_with(digits: str) -> list[UUID]:
    """The first few documents whose id begins with 8 hexadecimal digits."""
    first, last = (UUID(digits + d * 24) for d in "0f")
    found = Document.objects.filter(pk__gte=first, pk__lte=last).order_by("pk")
    return list(found.values_list("pk", flat=True)[:MOST])


class DocumentChangeList(WorkspaceChoices):
    """Says why it is empty."""

    workspace_field = "workspace"

    @property
    def empty_text(self) -> str:
        if not self.narrowed:
            return "Search for the id of a document, or choose a workspace."
        if self.form.data.get("q"):
            return "No document has this id. Deleted documents are found too."
        return "Nothing older." if AFTER in self.params else "This workspace has no documents."
