"""What happened to a document: from its fields, its recipients and the audit log."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from audit.models import NEWEST_FIRST, Action, AuditEntry
from audit.scope import scope_of
from config.console.formatting import isolated
from config.console.links import LOG, key_link
from documents.models import Document, DocumentStatus, Recipient, RecipientRole

MOST = 1_000  # entries of the audit log that are read, the newest
SHOWN = 50  # of what they say
LONG = timedelta(hours=12)  # between two events: the timeline says so
NO_EVENTS = (Action.DOCUMENT_VIEWED, Action.DOCUMENT_IMPORTED, Action.FILE_IMPORTED)
OPEN = {"DRAFT", "SENT", "VIEWED", "PARTIALLY_SIGNED"}  # may still expire


@dataclass
class Event:
    at: Any  # None if it is unknown
    what: str
    more: str = ""  # HTML
    kind: str = ""  # "download", "future", or "ended" if no signature can follow
    gap: str = ""  # since the event before, if that is long


def entries_of(request: HttpRequest, document: Document) -> list[AuditEntry]:
    """The newest entries that the user may see: the document may be from another workspace.

    Looking at its page, and importing it, did not happen to the document.
    """
    # Its index begins with the document.
    entries = AuditEntry.objects.filter(scope_of(request).condition(), document_id=document.pk)
    shown = entries.exclude(action__in=NO_EVENTS)
    return list(shown.order_by(*NEWEST_FIRST)[:MOST])


def downloads(request: HttpRequest, entries: Iterable[AuditEntry]) -> Iterator[dict[str, Any]]:
    """For each key, address and program: the last one, and how many there were."""
    found = defaultdict(list)
    for entry in entries:
        if entry.action == Action.DOCUMENT_DOWNLOADED:
            program = entry.user_agent.partition(" ")[0]
            origin = ", ".join(filter(None, (entry.address, program)))
            found[entry.key_id, origin].append(entry)
    for (_, origin), same in found.items():
        last = same[0]
        yield {"key": _key(request, last), "origin": origin, "last": last, "times": len(same)}


def timeline(
    request: HttpRequest,
    document: Document,
    recipients: Iterable[Recipient],
    entries: Iterable[AuditEntry],
) -> list[Event]:
    """The events, oldest first."""
    found = [
        Event(document.created_at, "Created"),
        *(event for each in recipients for event in _of_recipient(each)),
        *_of_fields(document, {each.sent_at for each in recipients}),
        *list(_of_entries(request, entries))[:SHOWN],
    ]
    # Of one moment, in this order: the last signature completes the document.
    found.sort(key=lambda event: event.at)
    for before, event in zip(found, found[1:], strict=False):
        is_future = event.kind == "future"
        gap = event.at - (timezone.now() if is_future else before.at)
        if gap >= LONG:
            hours = gap // timedelta(hours=1)
            event.gap = "in " if is_future else ""
            event.gap += f"{gap.days} days" if gap.days > 1 else f"{hours} hours"
    # No field has when it was cancelled.
    ended = document.get_status_display()
    if document.status not in OPEN and ended not in {event.what for event in found}:
        found.append(Event(None, ended, "at an unknown time", "ended"))
    return found


def _of_fields(document: Document, named: Container[datetime | None]) -> Iterator[Event]:
    """`named` has the times at which it was sent to somebody."""
    expired = document.status == DocumentStatus.EXPIRED
    is_open = document.status in OPEN and not document.deleted_at
    times = (
        (document.sent_at if document.sent_at not in named else None, "Sent", ""),
        (document.completed_at, "Completed", ""),
        (document.expires_at if expired else None, "Expired", "ended"),
        (document.expires_at if is_open else None, "Expires", "future"),
        (document.deleted_at, "Deleted", "ended"),
    )
    for at, what, kind in times:
        if at:
            yield Event(at, what, kind=kind)


def _of_recipient(recipient: Recipient) -> Iterator[Event]:
    signed = "Approved" if recipient.role == RecipientRole.APPROVER else "Signed"
    times = (
        (recipient.sent_at, "Sent", "to", ""),
        (recipient.viewed_at, "Viewed", "by", ""),
        (recipient.completed_at, signed, "by", ""),
        (recipient.declined_at, "Declined", "by", "ended"),
    )
    for at, what, preposition, kind in times:
        if at:
            who = format_html("{} {}", preposition, isolated(recipient.name))
            yield Event(at, what, who, kind)


def _of_entries(request: HttpRequest, entries: Iterable[AuditEntry]) -> Iterator[Event]:
    """The newest first. What was done several times is one event, at its first time."""
    same = defaultdict(list)
    for entry in entries:
        same[entry.action, entry.file_type, entry.key_id, entry.person].append(entry)
    for found in same.values():
        entry = found[-1]
        times = f", {len(found)} times in all" if len(found) > 1 else ""
        if entry.action == Action.DOCUMENT_DOWNLOADED:
            facts = format_html("({}) with {}{}", entry.file_type, _key(request, entry), times)
            yield Event(entry.created_at, "Downloaded", facts, kind="download")
        else:
            by = format_html("by {}", isolated(entry.person)) if entry.person else ""
            yield Event(entry.created_at, entry.action_label, format_html("{}{}", by, times))


def _key(request: HttpRequest, entry: AuditEntry) -> str:
    return key_link(entry, LOG, own=not scope_of(request).everything)
