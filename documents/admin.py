"""Documents in the admin: for support staff who were given a document's id, read-only."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html

from audit.admin import linked
from config.admin.changelist import FilterForm, ReadOnlyAdmin
from config.admin.formatting import exact
from documents.api.serializers import progress
from documents.models import Document, Recipient
from documents.permissions import may_view


class RecipientInline(admin.TabularInline):  # type: ignore[type-arg]
    """The people on a document, in the signing order."""

    model = Recipient
    ordering = ("order", "id")
    fields = readonly_fields = (
        "name",
        "email",
        "role",
        "status",
        "order",
        "sent",
        "viewed",
        "completed",
        "declined",
        "decline_reason",
    )
    can_delete = False
    empty_value_display = "–"
    show_change_link = False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_view(request, "view_recipient")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="sent")
    def sent(self, recipient: Recipient) -> str:
        return when(recipient.sent_at)

    @admin.display(description="viewed")
    def viewed(self, recipient: Recipient) -> str:
        return when(recipient.viewed_at)

    @admin.display(description="signed or approved")
    def completed(self, recipient: Recipient) -> str:
        return when(recipient.completed_at)

    @admin.display(description="declined")
    def declined(self, recipient: Recipient) -> str:
        return when(recipient.declined_at)


def in_order(document: Document) -> list[Recipient]:
    """The document's recipients in the signing order, as they were read with it."""
    return sorted(document.recipients.all(), key=lambda each: (each.order, each.id))


def when(moment: datetime | None) -> str:
    return exact(moment) if moment else "–"


NAMES_SHOWN = 3  # recipients of a document that the list names


class DocumentFilter(FilterForm):
    """A document is found by its id. Titles are not searched: no index would find them."""

    q = forms.UUIDField(
        label="Document id",
        required=False,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
        help_text="The whole id, as the API and the audit history show it",
        error_messages={"invalid": "This is not the id of a document. One has 36 characters."},
    )

    def condition(self) -> Q:
        document_id: UUID | None = self.cleaned_data["q"]
        return Q(pk=document_id) if document_id else Q()


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    """Documents of every workspace, deleted ones too; files are not downloaded here."""

    audit_lookup = "document_id"
    description = "One document by its id: how far it is, who is on it, and its history."
    empty_text = "No workspace has a document yet."
    filter_form = DocumentFilter
    list_display = (
        "title",
        "status",
        "workspace_history",
        "people",
        "progress",
        "created",
        "deleted",
        "trail",
    )
    list_display_links = ("title",)
    inlines = (RecipientInline,)
    fields = readonly_fields = (
        "id",
        "title",
        "workspace_history",
        "status",
        "progress",
        "trail",
        "file_name",
        "page_count",
        "size",
        "signing_order",
        "created",
        "sent",
        "completed",
        "expires",
        "deleted",
    )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_view(request, "view_document")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        documents: QuerySet[Document] = super().get_queryset(request)
        return documents.select_related("workspace").prefetch_related("recipients")

    # --- Fields ---

    @admin.display(description="recipients")
    def people(self, document: Document) -> str:
        addresses = [recipient.email for recipient in in_order(document)]
        more = len(addresses) - NAMES_SHOWN
        return ", ".join(addresses[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")

    @admin.display(description="progress")
    def progress(self, document: Document) -> str:
        so_far = progress(in_order(document))
        return f"{so_far.done} of {so_far.total}"

    @admin.display(description="workspace")
    def workspace_history(self, document: Document) -> str:
        """Leads to the workspace's history: its own page is not for support staff."""
        return linked(document.workspace.name, workspace_id__exact=document.workspace_id)

    @admin.display(description="history")
    def trail(self, document: Document) -> str:
        return format_html('<a href="{}">Audit history</a>', self.audit_url(document))

    @admin.display(description="size")
    def size(self, document: Document) -> str:
        return f"{filesizeformat(document.file_size)} ({document.file_size:,} bytes)"

    @admin.display(description="created")
    def created(self, document: Document) -> str:
        return when(document.created_at)

    @admin.display(description="sent")
    def sent(self, document: Document) -> str:
        return when(document.sent_at)

    @admin.display(description="completed")
    def completed(self, document: Document) -> str:
        return when(document.completed_at)

    @admin.display(description="expires")
    def expires(self, document: Document) -> str:
        return when(document.expires_at)

    @admin.display(description="deleted")
    def deleted(self, document: Document) -> str:
        return when(document.deleted_at) if document.deleted_at else "No"
