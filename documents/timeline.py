"""What happened to a document, from its fields, its recipients and the audit log."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from audit.models import Action, AuditEntry
from audit.scope import scope_of
from config.console.formatting import isolated
from config.console.links import LOG, key_link
from documents.models import Document, Recipient

MOST = 50  # entries of the audit log that are shown
COMPLETED = "Completed"
OPEN = {"DRAFT", "SENT", "VIEWED", "PARTIALLY_SIGNED"}  # may still expire


@dataclass(frozen=True)
class Event:
    at: datetime
    state: str  # "done", "now" for what is to come, or "ended"
    text: str  # HTML


def events(request: HttpRequest, document: Document) -> tuple[list[Event], bool]:
    """The events, oldest first, and whether there are older entries in the audit log.

    Only entries that the user may see: a document may have come from another workspace.
    """
    # Its index begins with the document; the newest entries are read.
    entries = AuditEntry.objects.filter(scope_of(request).condition(), document_id=document.pk)
    newest = list(entries.order_by("-created_at", "-id")[: MOST + 1])
    found = [
        *_of_fields(document),
        *(event for each in document.recipients.all() for event in _of_recipient(each)),
        *_of_entries(request, newest[:MOST]),
    ]
    # The last signature completes the document, at the same moment.
    found.sort(key=lambda event: (event.at, event.text == COMPLETED))
    return found, len(newest) > MOST


def _of_fields(document: Document) -> Iterator[Event]:
    now, expires = timezone.now(), document.expires_at
    times = (
        (document.created_at, "done", "Created"),
        (document.sent_at, "done", "Sent"),
        (document.completed_at, "done", COMPLETED),
        (document.deleted_at, "ended", "Deleted"),
    )
    for at, state, text in times:
        if at and at <= now:
            yield Event(at, state, text)
    if expires and expires <= now and document.status == Document.Status.EXPIRED:
        yield Event(expires, "ended", "Expired")
    if expires and expires > now and document.status in OPEN:
        yield Event(expires, "now", "Expires")


def _of_recipient(recipient: Recipient) -> Iterator[Event]:
    who = format_html("{} ({})", isolated(recipient.name), isolated(recipient.email))
    signed = "Approved" if recipient.role == Recipient.Role.APPROVER else "Signed"
    times = (
        (recipient.sent_at, "Sent to", "done"),
        (recipient.viewed_at, "Viewed by", "done"),
        (recipient.completed_at, f"{signed} by", "done"),
        (recipient.declined_at, "Declined by", "ended"),
    )
    for at, text, state in times:
        if at:
            yield Event(at, state, format_html("{} {}", text, who))


def _of_entries(request: HttpRequest, entries: list[AuditEntry]) -> Iterator[Event]:
    for entry in entries:
        if entry.action == Action.DOCUMENT_DOWNLOADED:
            key = key_link(entry, LOG, own=not scope_of(request).everything)
            text = format_html("Downloaded ({}) with {}", entry.file_type, key)
        else:
            by = format_html(" by {}", isolated(entry.person)) if entry.person else ""
            imported = entry.action == Action.DOCUMENT_IMPORTED
            fact = entry.detail.partition(";")[0] if imported else entry.file_type
            fact = format_html(" ({})", isolated(fact)) if fact else ""
            text = format_html("{}{}{}", entry.action_label, fact, by)
        yield Event(entry.created_at, "done", text)
