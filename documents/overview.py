"""Documents on the start page: by status, those that wait longest, and those without a file."""

import re
from typing import Any

from django.db.models import Prefetch, Q, Sum
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config import health
from config.checks import LOST
from config.console.formatting import Bad
from config.console.links import DOCUMENT, DOCUMENTS, filtered, page_link
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


def lost(visible: Q) -> list[tuple[Workspace, SafeString]]:
    """Of each document with a file that a check could not read: its workspace, and HTML."""
    missed = " ".join(each.msg for each in health.checks().problems if each.id == LOST)
    ids = re.findall("document ([0-9a-f-]{36})", missed)
    documents = Document.objects.filter(visible, pk__in=ids).select_related("workspace")
    text = "<b>Downloads of {} fail at present</b>: a file cannot be read. Operators have to act."
    links = [(each.workspace, page_link(DOCUMENT, each.title, each.pk)) for each in documents]
    return [(workspace, Bad(format_html(text, link))) for workspace, link in links]
