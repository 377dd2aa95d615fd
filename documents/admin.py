"""Documents in the admin, read-only: all for support staff, those of their workspace for admins."""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import F, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.models import Action
from audit.record import record
from audit.scope import WORKSPACE, ScopedAdmin, own_scope, scope_of
from audit.sealing.keys import set_up
from config.checks import FILES
from config.console.formatting import pill
from config.console.identify import Kind, meanings
from config.console.links import DOCUMENTS, LOG, filtered
from config.console.object_page import ObjectPage
from documents.admin_list import CustomerForm, DocumentFilter, DocumentList, url_of_match
from documents.api.objects import ASKED, DONE, progress
from documents.evidence.views import EvidenceFile
from documents.models import Document, DocumentStatus, Recipient, RecipientStatus, SigningOrder
from documents.overview import COLOURS, lost, panel
from documents.timeline import MOST, SHOWN, downloads, entries_of, timeline


class DocumentPage(ObjectPage):
    template_name = "admin/documents/document/page.html"
    obj: Document

    @property
    def is_own(self) -> bool:
        return own_scope(self.request).is_own(self.obj.workspace_id)

    def get(self, request: HttpRequest) -> HttpResponse:
        """The page, after an entry says who opened it; an own document is opened without one."""
        if request.method == "GET" and not self.is_own:
            workspace, document = self.obj.workspace.snapshot(), self.obj.snapshot()
            record(Action.DOCUMENT_VIEWED, by=self.login, workspace=workspace, document=document)
        return super().get(request)

    def context(self) -> dict[str, Any]:
        document = self.obj
        entries = entries_of(self.request, document)
        recipients = document.recipients.all()
        return {
            "title": document.title,
            "fails": lost(Q(pk=document.pk)),
            "document": document,
            "is_own": self.is_own,
            "state": state_of(document),
            "has_evidence": set_up(),
            "people": [(each, *circle(each), since(each)) for each in recipients],
            "in_order": document.signing_order == SigningOrder.SEQUENTIAL,
            "timeline": timeline(self.request, document, recipients, entries),
            "downloads": list(islice(downloads(self.request, entries), SHOWN)),
            "most": MOST if len(entries) == MOST else None,
            "log_url": filtered(
                LOG, workspace_id__exact=document.workspace_id, document_id__exact=document.pk
            ),
        }


def circle(recipient: Recipient) -> tuple[str, str]:
    """Its colour and its sign; nothing is awaited of who only gets the document."""
    if recipient.status in DONE:
        return "ok", "✓"
    if recipient.status in (RecipientStatus.DECLINED, RecipientStatus.BOUNCED):
        return "bad", "✕"
    return "quiet", "…" if recipient.role in ASKED else ""


def since(recipient: Recipient) -> datetime | None:
    """When a recipient got the present status, if that is known."""
    if recipient.status == RecipientStatus.BOUNCED:
        return None
    ended = recipient.completed_at or recipient.declined_at
    return ended or recipient.viewed_at or recipient.sent_at


def state_of(document: Document) -> SafeString:
    if document.deleted_at:
        return pill("bad", "Deleted")
    status = DocumentStatus(document.status)
    return format_html('<span class="dot {}">{}</span>', COLOURS[status], status.label)


@admin.register(Document)
class DocumentAdmin(ScopedAdmin):
    title = "Documents"
    pages = {"change": DocumentPage, "evidence": EvidenceFile}
    menu_position = 25
    list_class = DocumentList
    filter_form = DocumentFilter

    def rows(self, request: HttpRequest) -> QuerySet[Document]:
        in_order = Prefetch("recipients", Recipient.objects.order_by("order", "id"))
        documents: QuerySet[Document] = super().rows(request).select_related("workspace")
        return documents.annotate(workspace_name=F("workspace__name")).prefetch_related(in_order)

    def panels(self, request: HttpRequest) -> list[SafeString]:
        workspace = own_scope(request).workspace
        return [panel(workspace)] if workspace else []

    def health(self, request: HttpRequest) -> dict[str, list[str]]:
        scope = scope_of(request)  # who sees all reads what the check says
        lines: list[str] = [] if scope.everything else [line for _, line in lost(scope.condition())]
        return {FILES: lines} if lines else {}

    def needs_a_look(self, request: HttpRequest) -> Iterable[tuple[UUID, str, SafeString]]:
        for workspace, why in lost(scope_of(request).visible()):
            yield workspace.pk, workspace.name, why

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """Also by a title, or a recipient’s e-mail, in the workspace that is looked at."""
        if kind not in (Kind.RECIPIENT, Kind.TEXT) or not self.shows_one_workspace(request):
            return super().find(request, kind, text)
        return url_of_match(self.scope(request).workspace, text)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list of a workspace; for those who see all, first the question which one."""
        ids = [id for kind, id in meanings(request.GET.get("q", "")) if kind == Kind.ID]
        for id in ids:
            if url := self.find(request, Kind.ID, id):
                return HttpResponseRedirect(url)
        asks = None
        if not (self.shows_one_workspace(request) or request.GET.get(WORKSPACE)):
            asks = CustomerForm(request.GET)
            if asks.is_valid() and asks.meant:
                [(workspace, text)] = asks.meant
                narrowed = filtered(DOCUMENTS, **{"q": text, WORKSPACE: workspace.pk})
                return HttpResponseRedirect(url_of_match(workspace, text) or narrowed)
        return super().changelist_view(request, {"asks": asks, "is_id": bool(ids)})

    def as_rows(self, objects: Iterable[Document]) -> Iterable[dict[str, Any]]:
        for each in objects:
            so_far = progress(each.recipients.all())
            yield {"document": each, "state": state_of(each), "progress": so_far}
