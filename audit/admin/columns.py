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


def fact(label: str, text: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A field of an entry's page; `text` gets the entry."""

    @admin.display(description=label)
    def shown(self: Any, entry: Any) -> Any:
        return text(entry)

    return shown


def object_links(entry: Any, text: str, field: str) -> str:
    """A link to an object's page, one to its entries, and its id, which can be copied.

    Args:
        text: the object's name.
        field: the field of the entry with its id.
    """
    value = getattr(entry, field)
    if not value:
        return ""
    return format_html("{} {}", page_and_entries(entry.pages, text, field, value), copyable(value))


class EntryFields:
    """Columns and fields; the entries have been passed to `prepare`."""

    when = date_column("created_at", "time")
    happened = date_column("occurred_at", "happened", empty="")
    what_happened = fact("what happened", lambda entry: entry.action_label)
    download = fact("download", lambda entry: entry.outcome)
    person_link = fact("user", lambda entry: log_link(entry.person, q=entry.person))
    member_link = fact("account", lambda entry: log_link(entry.member, q=entry.member))
    address_link = fact("address", lambda entry: log_link(entry.address, q=entry.address))
    workspace_fact = fact(
        "workspace", lambda entry: object_links(entry, entry.workspace_name, "workspace_id")
    )
    key_fact = fact("API key", lambda entry: object_links(entry, entry.key_label, "key_id"))
    document_fact = fact(
        "document", lambda entry: object_links(entry, entry.document_title, "document_id")
    )
    sha256 = fact("file SHA-256", lambda entry: copyable(entry.file_sha256))
    sent = fact(
        "bytes sent", lambda entry: "" if entry.bytes_sent is None else f"{entry.bytes_sent:,}"
    )

    @admin.display(description="request id")
    def request_fact(self, entry: AuditEntry) -> str:
        if not entry.request_id:
            return ""
        found = log_link("all entries", q=entry.request_id)
        return format_html("{} {}", copyable(entry.request_id), found)

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
