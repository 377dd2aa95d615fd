"""The audit log in the console: all of it for support staff, a workspace's for its admins."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet, Value
from django.db.models.lookups import Exact
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from audit.logs import LogAdmin
from audit.models import CHANGES, COLUMNS, NO_DOWNLOADS, Action, AuditEntry, Checkpoint, folded
from audit.record import record
from audit.scope import Scope, scope_of
from audit.sealing import keys, state
from audit.sending import send
from audit.snapshots import WorkspaceSnapshot
from config import health
from config.checks import AUDIT_LOG
from config.console import lists
from config.console.base import request_user
from config.console.formatting import isolated, pill, time_tag, with_times
from config.console.identify import Kind
from config.console.links import DOCUMENT, ENDPOINT, LOG, WORKSPACE, key_link, list_link, page_link
from config.console.reauthentication import password_needed
from config.templatetags.console import copyable

BATCH = 2000  # entries that an export reads and sends at a time; no more are ever in memory
LATEST = 5  # on the start page
KINDS = {
    "downloads": ~NO_DOWNLOADS,
    "changes": CHANGES,
    "imports": Q(action=Action.DOCUMENT_IMPORTED),  # those of its files follow it in the log
}
# An export may be of one workspace; a key has one.
_IN_WORKSPACES = {"workspace", "(workspace)", "key"}
# The webhook that a detail names: "CRM https://hooks.example.com/… (its id): …".
_WEBHOOK = re.compile(r"(.*?) ?(\S+) \(([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\)")
# A spreadsheet treats a cell that begins with one of these as a formula (OWASP, CSV injection);
# this includes the full-width forms. Where `;` or tabs separate cells, one may begin within ours,
# also after a quotation mark.
_FORMULA = re.compile("(^|[;\t\r\n])([\"' ]*)(?=[=+\\-@＝＋－＠])")
_BLANK = ("\t", "\r", "\n")  # some spreadsheets skip these before a formula
_BYTE_ORDER_MARK = "\ufeff"  # without it, Excel does not read the file as UTF-8


def _actions(everything: bool) -> list[tuple[str, list[tuple[str, str]]]]:
    """The actions by what they are done to, for a field; admins see those of workspaces."""
    shown = [each for each in Action if everything or _IN_WORKSPACES & set(each.facts.split())]
    # `Action` has those of a group one after the other, as groupby needs them.
    groups = groupby(shown, lambda each: each.value.partition(".")[0].capitalize())
    return [(name, [(each.value, str(each.label)) for each in found]) for name, found in groups]


class AuditLogFilter(lists.LogFilter):
    """What the list can be narrowed by; `audit.models` has an index for each."""

    action__exact = forms.ChoiceField(label="What happened", required=False)
    kind = lists.any_of("Kind", [(each, each.capitalize()) for each in KINDS], forms.HiddenInput)
    document_id__exact = lists.linked("Document")
    key_id__exact = lists.linked("API key")
    key_prefix__exact = lists.linked("First characters of a key", forms.CharField)
    person = lists.linked("User", forms.CharField)
    address__exact = lists.linked("Address", forms.CharField)
    request_id__exact = lists.linked("Request id", forms.CharField)
    named = ("request_id__exact", "document_id__exact", "key_id__exact", "key_prefix__exact")
    personal = ("address__exact", "person")

    def condition(self) -> Q:
        values = self.cleaned_data
        found = super().condition() & KINDS.get(values["kind"], Q())
        if values["key_prefix__exact"]:
            found &= NO_DOWNLOADS  # as its index
        if values["address__exact"]:
            found &= ~Q(address="")
        return found

    def ranges(self, rows: QuerySet[Any]) -> list[QuerySet[Any]]:
        """What a user did, and what others did to its account: whole logins, in any case."""
        [found] = super().ranges(rows)
        if not self.cleaned_data["person"]:
            return [found]
        login = folded(Value(self.cleaned_data["person"]))
        by = Q(Exact(folded("person"), login)) & ~Q(person="")
        of = Q(Exact(folded("member"), login)) & ~Q(member="")
        return [found.filter(by), found.filter(of).exclude(by)]

    def text(self) -> str:
        """The filters in words, for the entry of an export: "What happened: API key revoked".

        Logins and addresses are left out: the log could never forget them.
        """
        values = self.cleaned_data
        shown = [name for name in ("kind", "action__exact", *self.named) if values[name]]
        parts = [f"{self[name].label}: {self.in_words(name)}" for name in shown]
        parts += [f"one {self[name].label.lower()}" for name in self.personal if values[name]]
        if values["within"]:
            parts.append(self.in_words("within"))
        if days := self.days():
            parts.append(days)
        return ", ".join(parts)

    def days(self) -> str:
        """The days as they were typed: "from 2026-11-01 to 2026-11-30 inclusive, UTC"."""
        since, until = self.cleaned_data["since"], self.cleaned_data["until"]
        first = f"from {since}" if since else ""
        last = f"to {until} inclusive" if until else ""
        days = f"{first} {last}".strip()
        return f"{days}, {self.cleaned_data['zone'] or 'UTC'}" if days else ""


@admin.register(AuditEntry)
class AuditEntryAdmin(LogAdmin):
    """Nobody adds, changes or deletes an entry; the database refuses it too."""

    menu_position = 30
    filter_form = AuditLogFilter
    export_url = reverse_lazy("admin:audit_auditentry_export")
    finds = {
        Kind.ID: ("document_id__exact", "key_id__exact", "request_id__exact"),
        Kind.EMAIL: ("person",),
        Kind.ADDRESS: ("address__exact",),
    }

    def get_filter_form(self, request: HttpRequest) -> Any:
        form = super().get_filter_form(request)
        actions: Any = form.fields["action__exact"]
        actions.choices = [("", "Anything"), *_actions(scope_of(request).everything)]
        return form

    def warnings(self, request: HttpRequest) -> list[str]:
        """What the checks have found of the log."""
        site: Any = self.admin_site
        return list(site.lines(request, health.checks().of(AUDIT_LOG)))

    def panels(self, request: HttpRequest) -> list[SafeString]:
        """The last changes of the workspace that is looked at."""
        if scope_of(request).everything:
            return []
        changes = self.get_queryset(request).filter(CHANGES)
        newest, _ = lists.page_after([changes], None, LATEST)
        context = {"lines": self.lines(request, newest), "one_workspace": True}
        return [SafeString(render_to_string("admin/log_panel.html", context))]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.export_view)
        return [path("export/", view, name="audit_auditentry_export"), *super().get_urls()]

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """Also all that a key did, by its first characters."""
        if kind != Kind.KEY:
            return super().find(request, kind, text)
        named = self.openable(request).filter(NO_DOWNLOADS, key_prefix=text)  # as the index
        entry = next(iter(named.order_by()[:1]), None)
        return super().find(request, Kind.ID, str(entry.key_id)) if entry else ""

    # --- A row

    def line(self, request: HttpRequest, row: AuditEntry) -> lists.Line:
        key = key_link(row, LOG, own=not scope_of(request).everything)
        parts = [
            key if row.person else "",  # a key that acted itself is who did it
            page_link(DOCUMENT, row.document_title, row.document_id) if row.document_id else "",
            "" if row.member == row.person else list_link(LOG, row.member, person=row.member),
            row.file_type,
            row.byte_range and f"bytes {row.byte_range}",
            detail_of(row) if row.detail != row.member else "",
        ]
        what = format_html_join(", ", "{}", ((isolated(part),) for part in parts if part))
        who = list_link(LOG, row.person, person=row.person) or key
        return lists.Line(row.action_label, row.colour, who, what)

    def facts(self, request: HttpRequest, row: AuditEntry) -> Iterable[tuple[str, Any]]:
        """What its line does not say already."""
        yield "Address", list_link(LOG, row.address, address__exact=row.address)
        yield "User agent", row.user_agent
        if row.request_id:
            entries = list_link(LOG, "its entries", request_id__exact=row.request_id)
            yield "Request id", format_html("{} {}", copyable(row.request_id), entries)
        yield "API key", copyable(row.key_id)
        if document := row.document_id:
            entries = list_link(LOG, "its entries", document_id__exact=document)
            yield "Document", format_html("{} {}", copyable(document), entries)
            if keys.set_up():
                url = reverse("admin:documents_document_evidence", args=[document])
                yield "Evidence", format_html('<a href="{}">Download</a>', url)
        yield "File SHA-256", copyable(row.file_sha256)
        if row.workspace_id:
            link = page_link(WORKSPACE, row.workspace_name, row.workspace_id)
            yield "Workspace", format_html("{} {}", link, copyable(row.workspace_id))
        if keys.set_up():
            yield "Seal", seal_of(row)

    # --- The export

    @method_decorator(require_GET)
    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """The filtered entries as CSV; a redirect to the list if a filter is not valid."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if needed := password_needed(request):
            return needed
        form = self.get_filter_form(request)
        if not form.is_valid():
            return HttpResponseRedirect(reverse(LOG, query=request.GET))
        workspace = snapshot_of(scope_of(request), form.cleaned_data["workspace_id__exact"])

        def make() -> Iterator[str]:
            of = f"Workspace: {workspace.workspace_name}" if workspace else ""
            detail = ", ".join(filter(None, (of, form.text()))) or "all of it"
            by = request_user(request).get_username()
            record(Action.LOG_EXPORTED, by=by, workspace=workspace, detail=detail)
            return csv_lines(lists.batches(form.ranges(self.get_queryset(request)), BATCH))

        values = form.cleaned_data
        name_of = workspace and workspace.workspace_name
        parts = (name_of, values["kind"], values["within"], form.days())
        words = slugify("-".join(part.replace("/", "-") for part in parts if part))
        name = f"audit-log-{words[:120]}.csv"
        return send(request, make, name=name, content_type="text/csv; charset=utf-8")


def detail_of(entry: AuditEntry) -> SafeString:
    """On one line; a webhook is a link to its page instead of its whole id."""
    text = " ".join(entry.detail.split())
    named = _WEBHOOK.match(text) if entry.action.startswith("webhook.") else None
    if named is None:
        return with_times(text)
    label, url, id = named.groups()
    link = page_link(ENDPOINT, label or f"{url} {id[:8]}", id)
    return format_html("{}{}", link, with_times(text[named.end() :]))


def seal_of(entry: AuditEntry) -> SafeString | str:
    leaf, intact = state.leaf_of(entry)
    if not intact:
        return pill("bad", f"Leaf {leaf:,}: this entry was changed after it was sealed")
    if leaf is None:
        return "Not sealed yet"
    checkpoint = Checkpoint.objects.filter(size__gt=leaf).order_by("size").first()
    if checkpoint is None:
        return "Not sealed yet"
    text = "Leaf {}; sealed by the checkpoint of {}, with {} entries"
    return format_html(text, f"{leaf:,}", time_tag(checkpoint.sealed_at), f"{checkpoint.size:,}")


def snapshot_of(scope: Scope, asked: Any) -> WorkspaceSnapshot | None:
    """The only workspace that a list shows; None if it shows those of several."""
    if not scope.everything:
        found: WorkspaceSnapshot = scope.workspace.snapshot()
        return found
    if asked is None:
        return None
    named = AuditEntry.objects.filter(workspace_id=asked).order_by("-created_at", "-id")
    name = named.values_list("workspace_name", flat=True).first() or str(asked)
    return WorkspaceSnapshot(workspace_id=asked, workspace_name=name)


def csv_lines(batches: Iterable[list[AuditEntry]]) -> Iterator[str]:
    yield _BYTE_ORDER_MARK + _csv([COLUMNS])
    for batch in batches:
        yield _csv(map(_cells, batch))


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()


def _cells(entry: AuditEntry) -> list[Any]:
    created_at = entry.created_at.isoformat().replace("+00:00", "Z")
    shown = {**vars(entry), "action": entry.action_label, "created_at": created_at}
    return [safe(shown[name]) for name in COLUMNS]


def safe(cell: Any) -> Any:
    """The cell, marked as text wherever a spreadsheet could see a formula begin."""
    if not isinstance(cell, str):
        return cell
    marked = _FORMULA.sub(r"\1'\2", cell)
    return f"'{marked}" if marked.startswith(_BLANK) else marked
