"""The columns of the audit log's list, and the fields of an entry's page."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join

from audit import download_outcomes
from audit.admin.links import log_link, page_and_entries, pages_of
from audit.models import Action, AuditEntry
from audit.sealing import state
from config.console.formatting import date_column, exact, pill
from config.templatetags.console import copyable


def prepare(
    request: HttpRequest, entries: Sequence[AuditEntry], among: QuerySet[AuditEntry]
) -> None:
    """Sets what the fields of these entries need to know, with two queries for all of them.

    Args:
        among: the entries that the user may see.
    """
    pages = pages_of(request)
    seals = state.seals_of(entries)
    ends = download_outcomes.ends_of(entries, among)
    for entry in entries:
        found: Any = entry
        found.pages = pages
        found.seal_found = seals.get(entry.pk)
        found.outcome = None
        if entry.action == Action.DOWNLOAD_ENDED:
            found.outcome = download_outcomes.outcome(entry, entry)
        elif entry.action == Action.DOCUMENT_DOWNLOADED:
            found.outcome = download_outcomes.outcome(entry, ends.get(entry.request_id))


def link_column(label: str, text: str, **filters: str) -> Callable[[Any, AuditEntry], str]:
    """A column with a link to the audit log, filtered by a value of the entry.

    Args:
        text: the property of the entry that the link shows.
        filters: one filter, with the field of the entry that has its value.
    """
    [(name, field)] = filters.items()

    @admin.display(description=label)
    def column(self: Any, entry: AuditEntry) -> str:
        return log_link(getattr(entry, text), **{name: getattr(entry, field)})

    return column


def object_column(label: str, text: str, field: str) -> Callable[[Any, Any], str]:
    """A column with a link to an object's page and one to its entries.

    Args:
        text: the property of the entry with the object's name.
        field: the one with its id.
    """

    @admin.display(description=label)
    def column(self: Any, entry: Any) -> str:
        return page_and_entries(entry.pages, getattr(entry, text), field, getattr(entry, field))

    return column


def object_fact(label: str, text: str, field: str) -> Callable[[Any, Any], str]:
    """The same for an entry's page, with the id, which can be copied."""
    shown = object_column(label, text, field)

    @admin.display(description=label)
    def fact(self: Any, entry: Any) -> str:
        value = getattr(entry, field)
        return format_html("{} {}", shown(self, entry), copyable(value)) if value else ""

    return fact


class EntryFields:
    """Columns and fields; the entries have been passed to `prepare`."""

    when = date_column("created_at", "time")
    happened = date_column("occurred_at", "happened", empty="")
    workspace = link_column("workspace", "workspace_name", workspace_id__exact="workspace_id")
    person_link = link_column("user", "person", q="person")
    member_link = link_column("account", "member", q="member")
    key_link = object_column("API key", "key_label", "key_id")
    document = object_column("document", "document_title", "document_id")
    address_link = link_column("address", "address", q="address")
    request = link_column("request id", "short_request_id", q="request_id")

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

    @admin.display(description="sealed")
    def sealed(self, entry: Any) -> str:
        seal: state.Seal | None = entry.seal_found
        if seal is None:
            return "not yet"
        return "yes" if seal.intact else pill("bad", "changed")

    @admin.display(description="seal")
    def seal(self, entry: Any) -> str:
        seal: state.Seal | None = entry.seal_found
        checkpoint = seal.checkpoint() if seal else None
        if seal is None or checkpoint is None:
            return "Not sealed yet"
        if not seal.intact:
            return f"Leaf {seal.leaf:,}, which this entry does not match"
        return (
            f"Leaf {seal.leaf:,}; sealed by the checkpoint of {exact(checkpoint.sealed_at)}, with "
            f"{checkpoint.size:,} entries"
        )

    @admin.display(description="what happened")
    def what_happened(self, entry: AuditEntry) -> str:
        return entry.action_label

    @admin.display(description="download")
    def download(self, entry: Any) -> str:
        outcome: download_outcomes.Outcome | None = entry.outcome
        return outcome.pill if outcome else ""

    @admin.display(description="what happened")
    def what_happened_to(self, entry: AuditEntry) -> str:
        """The action with its key or account. A key that acted itself is in the column "who"."""
        if download_outcomes.is_download(entry):
            return format_html(
                "{} ({}) {}", self.what_happened(entry), entry.file_type, self.download(entry)
            )
        key = self.key_link(entry) if entry.person else ""
        facts = (key, self.member_link(entry), entry.file_type, entry.detail)
        parts = [each for each in facts if each]
        if not parts:
            return self.what_happened(entry)
        named = format_html_join(", ", "{}", ((part,) for part in parts))
        return format_html("{}: {}", self.what_happened(entry), named)

    @admin.display(description="who")
    def who(self, entry: AuditEntry) -> str:
        return self.person_link(entry) or self.key_link(entry)
