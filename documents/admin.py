"""Documents in the admin, read-only: all for support staff, those of their workspace for admins."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import F, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from audit.models import Action
from audit.record import record
from audit.scope import Scope, ScopedAdmin, own_scope
from audit.sealing.keys import set_up
from config.console.base import NoPermissions, TabularInline, request_user
from config.console.formatting import date_column, isolated, pill
from config.console.links import LOG, WORKSPACE, filtered, page_link
from config.templatetags.console import copyable
from documents.admin_list import DocumentChangeList, DocumentFilter
from documents.api.objects import progress
from documents.evidence.views import evidence_file
from documents.models import Document, Recipient
from documents.permissions import may_view
from documents.timeline import events


class RecipientInline(NoPermissions, TabularInline):
    model = Recipient
    ordering = ("order", "id")
    fields = readonly_fields = ("name", "email", "role", "status", "order", "decline_reason")
    empty_value_display = "–"

    def has_view_permission(self, request: HttpRequest, obj: Document | None = None) -> bool:
        own = own_scope(request)
        is_own = bool(own) if obj is None else own.is_own(obj.workspace_id)
        return is_own or may_view(request, "view_recipient")


PILLS = {"COMPLETED": "ok", "DECLINED": "bad", "EXPIRED": "bad"}  # of other statuses: "quiet"


@admin.register(Document)
class DocumentAdmin(ScopedAdmin):
    """Support staff see those of every workspace, also deleted ones; workspace admins their own.

    Files cannot be downloaded here.
    """

    menu_position = 30
    actions = None
    list_per_page = 50
    sortable_by = ()
    empty_value_display = "–"
    change_list_template = "admin/documents/document/change_list.html"
    change_form_template = "admin/documents/document/change_form.html"
    list_display = (
        "titled",
        "state",
        "progress",
        "workspace_page",
        "recipient_emails",
        "created",
        "deleted",
        "evidence",
    )
    list_display_links = ("titled",)
    inlines = (RecipientInline,)
    fields = readonly_fields = (
        "state",
        "progress",
        "workspace_page",
        "whole_id",
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

    def scope(self, request: HttpRequest) -> Scope:
        scope = own_scope(request)
        scope.everything = may_view(request, "view_document")
        return scope

    def rows(self, request: HttpRequest) -> QuerySet[Document]:
        documents: QuerySet[Document] = super().rows(request)
        if not may_view(request, "view_document"):
            documents = documents.filter(deleted_at=None)
        in_order = Prefetch("recipients", Recipient.objects.order_by("order", "id"))
        documents = documents.annotate(workspace_name=F("workspace__name"))
        return documents.select_related("workspace").prefetch_related(in_order)

    def history_url(self, obj: Document) -> str:
        return filtered(LOG, workspace_id__exact=obj.workspace_id, document_id__exact=obj.pk)

    def get_filter_form(self, request: HttpRequest) -> DocumentFilter:
        scope = self.scope(request)
        own = None if scope.everything else scope.workspace.pk
        return DocumentFilter(request.GET, self.get_queryset(request), own)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return self._shown(request, self.list_display)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self._shown(request, self.fields)

    def _shown(self, request: HttpRequest, names: Sequence[str]) -> list[Any]:
        """Without what is the same for all documents that the user sees."""
        hidden = set() if set_up() else {"evidence"}
        if not may_view(request, "view_document"):
            hidden |= {"deleted", "workspace_page"}
        return [name for name in names if name not in hidden]

    def found(self, request: HttpRequest, text: str, most: int) -> tuple[list[Any] | None, str]:
        form = self.get_filter_form(request)
        return (form.page(None, most).rows if form.is_valid() else None), ""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[DocumentChangeList]:
        return DocumentChangeList

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """The page, which is sent only with the audit entry of its opening."""
        document: Document = kwargs["obj"]

        def record_opening(_: HttpResponse) -> None:
            record(
                Action.DOCUMENT_VIEWED,
                by=request_user(request).get_username(),
                workspace=document.workspace.snapshot(),
                document=document.snapshot(),
            )

        context["evidence"] = set_up()
        context["events"], context["more_entries"] = events(request, document)
        response: Any = super().render_change_form(request, context, *args, **kwargs)
        if request.method == "GET":
            response.add_post_render_callback(record_opening)
        return response

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(evidence_file)
        return [
            path("<str:object_id>/evidence/", view, name="documents_document_evidence"),
            *super().get_urls(),
        ]

    # --- Fields ---

    created = date_column("created_at", "created")
    sent = date_column("sent_at", "sent")
    completed = date_column("completed_at", "completed")
    expires = date_column("expires_at", "expires")
    deleted = date_column("deleted_at", "deleted", empty="No")

    @admin.display(description="title")
    def titled(self, document: Document) -> str:
        return document.title

    @admin.display(description="status")
    def state(self, document: Document) -> str:
        return pill(PILLS.get(document.status, "quiet"), document.get_status_display())

    @admin.display(description="recipients")
    def recipient_emails(self, document: Document) -> str:
        first, *others = [recipient.email for recipient in document.recipients.all()] or [""]
        more = f" and {len(others)} more" if others else ""
        return format_html("{}{}", isolated(first), more)

    @admin.display(description="progress")
    def progress(self, document: Document) -> str:
        so_far = progress(document.recipients.all())
        return f"{so_far.done} of {so_far.total}"

    @admin.display(description="id")
    def whole_id(self, document: Document) -> str:
        return copyable(document.pk)

    @admin.display(description="workspace")
    def workspace_page(self, document: Any) -> str:
        return page_link(WORKSPACE, document.workspace.name, document.workspace_id)

    @admin.display(description="evidence")
    def evidence(self, document: Document) -> str:
        url = reverse("admin:documents_document_evidence", args=[document.pk])
        return format_html('<a href="{}">Download</a>', url)

    @admin.display(description="size")
    def size(self, document: Document) -> str:
        return f"{filesizeformat(document.file_size)} ({document.file_size:,} bytes)"
