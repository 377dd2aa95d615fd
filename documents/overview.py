"""The documents of a workspace on the start page: by status, and those that wait longest."""

from typing import Any

from django.db.models import Prefetch, Sum
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from config.console.links import DOCUMENTS, filtered
from documents.api.objects import ASKED
from documents.models import Document, DocumentStatus, Recipient, RecipientStatus
from workspaces.models import DocumentCount, Workspace

SHOWN = 3
WAITING = (DocumentStatus.SENT, DocumentStatus.VIEWED, DocumentStatus.PARTIALLY_SIGNED)
ASKED_NOW = (RecipientStatus.SENT, RecipientStatus.VIEWED, RecipientStatus.BOUNCED)
COLOURS = {  # from left to right
    DocumentStatus.COMPLETED: "p1",
    **dict.fromkeys(WAITING, "p2"),
    DocumentStatus.DRAFT: "p3",
    DocumentStatus.DECLINED: "p4",
    DocumentStatus.EXPIRED: "p4",
    DocumentStatus.CANCELLED: "p3",
}


def panel(workspace: Workspace) -> SafeString:
    rows = DocumentCount.objects.filter(workspace_id=workspace.pk).values_list("status")
    counts = dict(rows.annotate(sum=Sum("count")))
    parts: list[tuple[Any, ...]] = []  # where each begins, its number, text, colour and URL
    total = 0
    for status, colour in COLOURS.items():
        if number := counts.get(status):
            url = filtered(DOCUMENTS, status=status)
            parts.append((total, number, status.label.lower(), colour, url))
            total += number
    waiting = Document.objects.filter(workspace=workspace, status__in=WAITING, deleted_at=None)
    longest = waiting.exclude(sent_at=None).order_by("sent_at", "id")[:SHOWN]
    asked = Recipient.objects.filter(role__in=ASKED, status__in=ASKED_NOW).order_by("order", "id")
    longest = longest.prefetch_related(Prefetch("recipients", asked, "asked"))
    now = timezone.now()
    context = {
        "parts": parts,
        "total": total,
        "waiting": [(each, each.sent_at and (now - each.sent_at).days) for each in longest],
    }
    return SafeString(render_to_string("admin/documents/panel.html", context))
