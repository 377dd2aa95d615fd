"""The list of documents in the admin, and how they are found."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.html import format_html_join

from config.api.errors import InvalidParameter
from config.console.formatting import isolated
from config.console.identify import Kind, meanings
from config.console.lists import (
    ListPage,
    LogChangeList,
    LogFilter,
    Position,
    any_of,
    day,
)
from documents.api.documents import DocumentPosition
from documents.models import Document, DocumentStatus, RecipientStatus
from documents.search.parameters import SORTS, TEXT_MAX, WORDS_EXPECTED, Range, Search
from documents.search.queries import search
from workspaces.models import Workspace

MOST_CUSTOMERS = 10  # that are named if several may be meant


class DocumentFilter(LogFilter):
    """Finds documents by their ids, or as the API does within a workspace.

    Args:
        documents: those that the user may see.
        own: the workspace that an admin looks at; None for those who see all.
    """

    field_order = ("q", "customer", "status", "recipient_status")
    q = forms.CharField(
        label="Title, recipient’s whole e-mail, or id",
        required=False,
        max_length=500,
        widget=forms.TextInput({"type": "search", "autocomplete": "off"}),
    )
    customer = forms.CharField(label="Which customer?", required=False, max_length=TEXT_MAX)
    since, until = day("Created from"), day("Created to, inclusive")
    status = any_of("Status", DocumentStatus.choices)
    recipient_status = any_of("Recipient’s status", RecipientStatus.choices)
    ids: list[UUID]  # what `q` finds, whatever other filters but the workspace say

    def __init__(self, data: QueryDict, documents: QuerySet[Document], own: UUID | None) -> None:
        super().__init__(data)
        self.documents, self.own = documents, own
        if own or data.get("workspace_id__exact"):
            del self.fields["customer"]
        elif data.get("q"):
            self.fields["customer"].widget.attrs["autofocus"] = True

    @property
    def workspace_id(self) -> UUID | None:
        values = self.cleaned_data
        return self.own or values.get("workspace_id__exact") or values.get("customer")

    def clean_customer(self) -> UUID | None:
        """The only workspace whose name begins so."""
        name, text = self.cleaned_data["customer"], self.data.get("q", "")
        if not name:
            return None
        named = Workspace.objects.filter(name__istartswith=name).order_by("name", "id")
        found = list(named[:MOST_CUSTOMERS])
        if not found:
            raise forms.ValidationError("No workspace’s name begins so.")
        if len(found) > 1:
            links = (
                (urlencode({"q": text, "workspace_id__exact": each.pk}), isolated(each.label))
                for each in found
            )
            raise forms.ValidationError(format_html_join(", ", '<a href="?{}">{}</a>', links))
        return found[0].pk

    def clean(self) -> None:
        super().clean()
        found = meanings(self.cleaned_data.get("q", ""))
        self.ids = [UUID(id) for kind, id in found if kind == Kind.ID]

    def search(self) -> Search:
        values, text = self.cleaned_data, self.cleaned_data["q"]
        email = text if "@" in text else None
        bounds = self.bounds()
        return Search(
            (values["status"],) if values["status"] else (),
            email,
            values["recipient_status"] or None,
            None if email else text or None,
            (Range("created", *bounds),) if any(bounds) else (),
            SORTS[0],
        )

    @property
    def only_match(self) -> Document | None:
        found = self.page(None, 2) if self.is_valid() else ListPage([])
        return found.rows[0] if len(found.rows) == 1 and not found.older else None

    def page(self, after: Position | None, size: int) -> ListPage:
        """The next documents. The form is valid; words that are not become its error."""
        workspace_id = self.workspace_id
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
                    return ListPage([])
                ids = [UUID(id) for id, *_ in found.rows]
                older = found.next and Position(*found.next)
        rows = self.documents.filter(within, pk__in=ids).order_by("-created_at", "-id")
        return ListPage(list(rows), None, older)


class DocumentChangeList(LogChangeList):
    form: DocumentFilter

    def get_page(self, after: Position | None, before: Position | None) -> ListPage:
        if not self.form.is_valid():
            return ListPage([])
        return self.form.page(after, self.list_per_page)

    @property
    def empty_text(self) -> str:
        if self.older_url:
            return "Nothing matches on this page. Older documents may match."
        if self.form.workspace_id:
            return "No documents."
        if self.form.ids:
            return "There is no such document. Deleted documents are found too."
        return "Which customer? Titles and recipients are searched within one workspace."
