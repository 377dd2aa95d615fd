"""The list of documents in the admin, and how they are found."""

from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q

from audit.admin.search import beginning_in, ids_in
from audit.admin.workspace_filter import WorkspaceField
from config.api.errors import InvalidParameter
from config.api.parameters import LIMIT_MAX
from config.console.changelist import AFTER, FilterForm, KeysetChangeList
from documents.models import Document
from documents.search.parameters import EVERYTHING, WORDS_EXPECTED
from documents.search.queries import search

MOST = 10  # documents whose ids begin with the same digits


class DocumentFilter(FilterForm):
    """Finds documents by their id, or within their workspace; without either of them, none."""

    q = forms.CharField(
        label="Document id or title",
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
        help_text=(
            "The id, its first 8 characters, or a URL of the API with it; "
            f"within a workspace, words of the title find the newest {LIMIT_MAX}"
        ),
    )
    workspace = WorkspaceField()

    def clean(self) -> None:
        text, workspace_id = self.cleaned_data.get("q", ""), self.cleaned_data.get("workspace")
        found = ids_in(text)
        if digits := beginning_in(text):
            found = documents_beginning_with(digits)
        if text and not found and workspace_id and not self.errors:
            found = titled(text, workspace_id)
        elif text and not found and not digits:
            self.add_error(
                "q", "There is no document id in this. An id is a UUID. Or choose a workspace."
            )
        self.cleaned_data["q"] = found

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


def titled(words: str, workspace_id: UUID) -> list[UUID]:
    """The newest documents of a workspace whose titles have these words, as the API finds them.

    Raises:
        ValidationError: there are no words, or too many.
    """
    try:
        found = search(workspace_id, EVERYTHING._replace(title=words), None, LIMIT_MAX)
    except InvalidParameter:
        raise ValidationError({"q": f"Type an id, or {WORDS_EXPECTED}."}) from None
    return [UUID(row[0]) for row, _ in found.documents]


class DocumentChangeList(KeysetChangeList):
    """Says why it is empty."""

    @property
    def empty_text(self) -> str:
        if not self.narrowed:
            return "Search for the id of a document, or choose a workspace."
        if self.form.data.get("q"):
            if self.form.data.get("workspace"):
                return "No document of this workspace has this id, or these words in its title."
            return "No document has this id. Deleted documents are found too."
        return "Nothing older." if AFTER in self.params else "This workspace has no documents."
