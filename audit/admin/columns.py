"""The columns of the audit log's list, and the fields of an entry's page."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join

from audit import downloads
from audit.admin.links import log_link, page_and_entries, page_link, pages_of
from audit.models import DOWNLOADS, Action, AuditEntry, Checkpoint
from audit.sealing import state
from config.console.formatting import date_column, pill, time_tag
from config.templatetags.console import copyable

# The colour of an action's name, by its last word: what failed, what ended, what is new.
_COLOURS = {
    "bad": ("failed", "refused", "damaged", "verification_failed", "password_refused"),
    "warn": ("revoked", "deleted", "removed", "suspended", "switched_off", "second_factor_removed"),
    "ok": ("created", "added", "reinstated", "switched_on", "accepted", "second_factor_added"),
}
COLOURS = {word: colour for colour, words in _COLOURS.items() for word in words}


def prepare(
    request: HttpRequest, entries: Sequence[AuditEntry], among: QuerySet[AuditEntry]
) -> None:
    """Sets what the fields of these entries need to know, with two queries for all of them.

    Args:
        among: the entries that the user may see.
    """
    pages = pages_of(request)
    seals = state.seals_of(entries)
    ends = downloads.ends_of(entries, among)
    for entry in entries:
        found: Any = entry
        found.pages = pages
        found.leaf, found.intact = seals.get(entry.pk, (None, True))
        found.outcome = ""
        if entry.action in DOWNLOADS:
            ended = entry if entry.action == Action.DOWNLOAD_ENDED else ends.get(entry.request_id)
            found.outcome = downloads.outcome(entry, ended)


def link_column(label: str, name: str) -> Callable[[Any, AuditEntry], str]:
    """A field's value, with a link to the entries that a search for it finds."""

    @admin.display(description=label)
    def column(self: Any, entry: AuditEntry) -> str:
        return log_link(getattr(entry, name), q=getattr(entry, name))

    return column


def object_fact(label: str, text: str, field: str) -> Callable[[Any, Any], str]:
    """A link to an object's page, one to its entries, and its id, which can be copied.

    Args:
        text: the property of the entry with the object's name.
        field: the one with its id.
    """

    @admin.display(description=label)
    def fact(self: Any, entry: Any) -> str:
        value = getattr(entry, field)
        if not value:
            return ""
        links = page_and_entries(entry.pages, getattr(entry, text), field, value)
        return format_html("{} {}", links, copyable(value))

    return fact


class EntryFields:
    """Columns and fields; the entries have been passed to `prepare`."""

    when = date_column("created_at", "time")
    happened = date_column("occurred_at", "happened", empty="")
    person_link = link_column("user", "person")
    member_link = link_column("account", "member")
    address_link = link_column("address", "address")

    workspace_fact = object_fact("workspace", "workspace_name", "workspace_id")
    key_fact = object_fact("API key", "key_label", "key_id")
    document_fact = object_fact("document", "document_title", "document_id")

    @admin.display(description="request id")
    def request_fact(self, entry: AuditEntry) -> str:
        if not entry.request_id:
            return ""
        found = log_link("all entries", q=entry.request_id)
        return format_html("{} {}", copyable(entry.request_id), found)

    @admin.display(description="file SHA-256")
    def sha256(self, entry: AuditEntry) -> str:
        return copyable(entry.file_sha256)

    @admin.display(description="bytes sent")
    def sent(self, entry: AuditEntry) -> str:
        return "" if entry.bytes_sent is None else f"{entry.bytes_sent:,}"

    @admin.display(description="seal")
    def seal(self, entry: Any) -> str:
        if entry.leaf is None:
            return "Not sealed yet"
        if not entry.intact:
            return f"Leaf {entry.leaf:,}, which this entry does not match"
        checkpoint = Checkpoint.objects.filter(size__gt=entry.leaf).order_by("size").first()
        if checkpoint is None:
            return "Not sealed yet"
        return format_html(
            "Leaf {}; sealed by the checkpoint of {}, with {} entries",
            f"{entry.leaf:,}",
            time_tag(checkpoint.sealed_at),
            f"{checkpoint.size:,}",
        )

    @admin.display(description="what happened")
    def what_happened(self, entry: AuditEntry) -> str:
        return entry.action_label

    @admin.display(description="download")
    def download(self, entry: Any) -> Any:
        return entry.outcome

    def line(self, entry: Any) -> dict[str, Any]:
        """The entry in one line: how it is coloured, and the texts of its columns."""

        def link(text: str, field: str) -> str:
            return page_link(entry.pages, text, field, getattr(entry, field))

        key = link(entry.key_label, "key_id")
        parts = [link(entry.document_title, "document_id"), entry.member, entry.file_type]
        if entry.outcome:
            parts.append(entry.outcome)
        else:
            # A key that acted itself is who did it.
            parts = [key if entry.person else "", *parts, " ".join(entry.detail.split())]
        sealed = pill("quiet", "not sealed yet") if entry.leaf is None else ""
        if not entry.intact:
            sealed = pill("bad", "changed")
        return {
            "entry": entry,
            "colour": COLOURS.get(entry.action.partition(".")[2], ""),
            "word": entry.action_label,
            "who": entry.person or key,
            "what": format_html_join(", ", "{}", ((part,) for part in parts if part)),
            "sealed": sealed,
        }
