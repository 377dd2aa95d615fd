"""The list of a workspace's documents in the admin, and the question whose documents are meant."""

import re
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Upper
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from audit.scope import WORKSPACE
from config.api.errors import InvalidParameter
from config.console.formatting import isolated
from config.console.links import DOCUMENT, DOCUMENTS, filtered, parsed
from config.console.lists import FilteredList, LogFilter, any_of, day
from documents.api.documents import DocumentPosition
from documents.models import Document, DocumentStatus, RecipientStatus
from documents.search.parameters import SORTS, TEXT_MAX, WORDS_EXPECTED, Range, Search
from documents.search.queries import search
from workspaces.models import Workspace

MOST_CUSTOMERS = 10  # that are named if several may be meant
SIZES = range(1, 11)  # of a customer's name beside a title, in words
TEXT = forms.CharField(
    label="Title, recipient’s whole e-mail, or id",
    required=False,
    max_length=500,
    widget=forms.TextInput({"type": "search", "autocomplete": "off"}),
)


def plain(text: str) -> str:
    """Without what people type around a title, an e-mail or a customer's name, such as commas."""
    return " ".join(word.strip(',;:()<>"') for word in text.split())


class CustomerForm(forms.Form):
    """Asks whose document is meant, unless the text says it: "Mutual NDA Acme"."""

    customer = forms.CharField(
        label="A customer’s name, a member’s e-mail, or an id",
        required=False,
        max_length=TEXT_MAX,
        widget=forms.TextInput({"autofocus": True}),
    )
    q = TEXT

    def clean(self) -> None:
        """Sets `meant`: the workspaces that may be meant, and what is looked for in each."""
        name, text = (self.cleaned_data.get(each, "") for each in ("customer", "q"))
        by = Q(name__istartswith=name) | Q(memberships__user__username__iexact=name)
        called = Workspace.objects.filter(by | Q(pk=parsed(name))).distinct()
        found = called if name else named_in(text)
        customers = found.order_by("name", "id")[:MOST_CUSTOMERS]
        self.meant = [(each, text if name else without(each.name, text)) for each in customers]
        if name and not self.meant:
            self.add_error(None, "None has a name that begins so, such a member, or this id.")
        if len(self.meant) > 1:
            links = (
                (filtered(DOCUMENTS, **{"q": text, WORKSPACE: each.pk}), isolated(each.label))
                for each, text in self.meant
            )
            which = format_html_join(", ", '<a href="{}">{}</a>', links)
            self.add_error(None, format_html("Which one? {}", which))


def named_in(text: str) -> QuerySet[Workspace]:
    """The workspaces whose names begin or end the text. An index finds them."""
    typed = (text.split(), plain(text).split())
    parts = [part for words in typed for n in SIZES for part in (words[:n], words[-n:])]
    names = [Upper(Value(" ".join(part))) for part in parts]
    return Workspace.objects.alias(upper=Upper("name")).filter(upper__in=names)


def without(name: str, text: str) -> str:
    own = re.compile(f"^ {re.escape(name)} | {re.escape(name)} $", re.IGNORECASE)
    typed = f" {text} " if own.search(f" {text} ") else f" {plain(text)} "
    return own.sub(" ", typed, count=1).strip()


class DocumentFilter(LogFilter):
    """Finds documents of a workspace as the API does."""

    field_order = ("q", "status", "recipient_status")
    q = TEXT
    since, until = day("Created from"), day("Created to, inclusive")
    status = any_of("Status", DocumentStatus.choices)
    recipient_status = any_of("Recipient’s status", RecipientStatus.choices)

    def search(self) -> Search:
        values, text = self.cleaned_data, plain(self.cleaned_data["q"])
        email = next((word for word in text.split() if "@" in word), None)
        bounds = self.bounds()
        return Search(
            (values["status"],) if values["status"] else (),
            email,
            values["recipient_status"] or None,
            None if email else text or None,
            (Range("created", *bounds),) if any(bounds) else (),
            SORTS[0],
        )

    def found(self, last: Document | None, size: int) -> tuple[list[UUID], UUID | None]:
        """The ids of the next documents, and the last one's if there are older ones.

        Nothing is found without a workspace, or if the form is not valid.
        """
        if not (self.is_valid() and self.cleaned_data[WORKSPACE]):
            return [], None
        position = DocumentPosition(last.created_at, last.id) if last else None
        try:
            page = search(self.cleaned_data[WORKSPACE], self.search(), position, size)
        except InvalidParameter:
            self.add_error("q", f"Type an id, or {WORDS_EXPECTED}.")
            return [], None
        return [UUID(id) for id, *_ in page.rows], page.next and page.next.id


def url_of_match(workspace: Workspace, text: str) -> str:
    """The page of the only document that the text finds, or the list of several; "" for none."""
    ids, older = DocumentFilter({WORKSPACE: workspace.pk, "q": text}).found(None, 2)
    if len(ids) == 1 and not older:
        return reverse(DOCUMENT, args=ids)
    return filtered(DOCUMENTS, **{"q": text, WORKSPACE: workspace.pk}) if ids or older else ""


class DocumentList(FilteredList):
    template_name = "admin/documents/document/change_list.html"

    def get_page(self) -> tuple[list[Any], Any]:
        ids, older = self.form.found(self.last, self.section.list_per_page)
        rows = self.section.get_queryset(self.request).filter(pk__in=ids)
        return list(rows.order_by("-created_at", "-id")), older

    @property
    def empty_text(self) -> str:
        if self.older:
            return "Nothing matches on this page. Older documents may match."
        if any(label not in ("Workspace", "Search") for label, *_ in self.chips):
            return "Nothing matches all of these filters."
        if text := self.form.cleaned_data.get("q"):
            names = Workspace.objects.filter(pk=self.form.cleaned_data[WORKSPACE])
            of = "".join(f" of {each}" for each in names)
            nothing = f"No document{of} has “{text}” in its title or as a recipient’s whole e-mail."
            if self.one_workspace:
                return f"{nothing} The box above also finds keys and webhooks by parts of names."
            return f"{nothing} The box above finds a key by its first 12 characters, and any id."
        return "No documents."
