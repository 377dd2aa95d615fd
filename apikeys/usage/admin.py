"""Refused requests in the console: all for support, those of their workspace for admins."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.apps import apps
from django.contrib import admin
from django.db.models import F, Q
from django.http import HttpRequest
from django.template.defaultfilters import pluralize
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from apikeys.models import ApiKey
from apikeys.usage import report
from apikeys.usage.models import KeyUsage, RefusedRequest
from audit.logs import LogAdmin
from audit.scope import scope_of
from config import health
from config.api.errors import ApiError
from config.checks import FILES
from config.console import lists
from config.console.base import request_user
from config.console.formatting import Bad, Quiet, clock_tag, isolated, with_times
from config.console.identify import Kind
from config.console.links import DOCUMENT, REFUSED, WORKSPACE, key_link, page_link, parsed
from config.request.context import began_at
from config.templatetags.console import copyable
from workspaces.permissions import is_operator

RESPONSES = "errors of the last 5 minutes"  # looked at by the start page
# The parts whose checks say when it is over, by how the reasons of 503s begin.
CHECKED = {"object storage": FILES, "the database": "database"}
STATUSES = sorted({each.status_code for each in ApiError.__subclasses__()})


class RefusedFilter(lists.LogFilter):
    """What the list can be narrowed by; `apikeys.usage.models` has the indexes."""

    status__exact = lists.any_of("Status", [(str(status), status) for status in STATUSES])
    key_id__exact = lists.linked("API key")
    key_prefix__exact = lists.linked("First characters of a key", forms.CharField)
    request_id__exact = lists.linked("Request id")
    address__exact = lists.linked("Address", forms.CharField)
    by_time = False  # whether no row has the Request-Id, so that its time chooses the rows

    def clean(self) -> None:
        self.request_id = self.cleaned_data.pop("request_id__exact", None)

    def ranges(self, rows: Any) -> list[Any]:
        """With a Request-Id, the row that has it; else the rows of its time with unknown ids."""
        found = rows.filter(self.condition())
        if self.request_id is None:
            return [found]
        # All of them: for the first ones alone, PostgreSQL may read the whole table.
        kept = rows.filter(request_ids__contains=[self.request_id]).values_list("pk", flat=True)
        if ids := list(kept):
            return [found.filter(pk__in=ids)]
        self.by_time = True
        at = began_at(self.request_id)
        floods = found.filter(requests__gt=F("request_ids__len"), last_at__gte=at)
        # Rows have the times at which requests ended. A refusal takes less than a second.
        first = (at - timedelta(minutes=1), at + timedelta(seconds=1))
        return [floods.filter(created_at__range=first)]


@admin.register(RefusedRequest)
class RefusedRequestAdmin(LogAdmin):
    """Which requests were refused, and why: the answer to a quoted Request-Id."""

    empty_text = (
        "None. Refused requests are listed after some seconds, and kept for 30 days; those that "
        "succeeded are not listed. Those without a key, or whose key is unknown or deleted, are of "
        "no workspace: only support staff see them."
    )
    menu_position = 29  # before the audit log; of an address, the box leads to the log first
    in_menu = False  # the audit log leads here
    filter_form = RefusedFilter
    finds = {
        Kind.KEY: ("key_prefix__exact",),  # of a key that the audit log does not know
        Kind.ID: ("request_id__exact",),
        Kind.ADDRESS: ("address__exact",),
    }

    def panels(self, request: HttpRequest) -> list[SafeString]:
        """For support, what was refused and where to look; for operators, also all requests."""
        if not scope_of(request).everything:
            return []
        panels = [report.day_panel(self.lines(request, most_of_a_day()[: report.LATEST]))]
        if is_operator(request_user(request)):
            panels.append(report.panel(KeyUsage.objects.all(), "Requests with any key"))
        return panels

    def needs_a_look(self, request: HttpRequest) -> Iterable[tuple[UUID, str, SafeString]]:
        scope = scope_of(request)
        known = Q(key_id__in=ApiKey.objects.values("pk"))  # of a deleted one, nothing is known
        return report.needs_a_look(scope.visible() & known, own=not scope.everything)

    def health(self, request: HttpRequest) -> dict[str, list[str]]:
        """By part, what has failed in the last minutes; and what a check has found well since."""
        scope = scope_of(request)
        checks = health.checks()
        rows = report.faults(report.refused_within(minutes=5).filter(scope.condition()))
        found: dict[str, list[str]] = {}
        for row in reversed(rows):  # the most stay
            cause = re.split(" was |:| responded ", row.reason)[0]
            part = CHECKED.get(cause, RESPONSES)
            is_over = part in checks.well and row.last_at < checks.at
            context = {"row": row, "own": not scope.everything, "is_over": is_over}
            text = render_to_string("admin/usage/failed.html", context)
            if is_over:
                found[f"{part} before"] = [Quiet(text)]
            else:
                found[part] = [Bad(text)]
        is_calm = not rows and FILES in checks.well  # a lost file is an error too
        return {RESPONSES: []} if is_calm else found

    # --- A row

    def line(self, request: HttpRequest, row: RefusedRequest) -> lists.Line:
        what = with_times(reason(request, row))
        word = f"{row.requests:,} × {row.status}" if row.requests > 1 else str(row.status)
        colour = "warn" if row.status < 500 else "bad"  # as in charts
        own = not scope_of(request).everything
        who = key_link(row, REFUSED, own=own) if row.key_id else isolated(row.address)
        which, others = row.path, f"other request{pluralize(row.others)}"
        if row.key_prefix and not row.key_id:  # anybody can send it
            which += f" with {row.key_prefix}…"
            others = f"request{pluralize(row.others)} with other keys or paths"
        if row.path:
            which = f"{row.others:,} {others}, and {which}" if row.others else which
            what = format_html('<div>{}</div><div class="quiet">{}</div>', what, isolated(which))
        return lists.Line(word, colour, who, what)

    def facts(self, request: HttpRequest, row: RefusedRequest) -> Iterable[tuple[str, Any]]:
        """What its line does not say already."""
        if row.last_at > row.created_at:
            yield "Last request", clock_tag(row.last_at)
        yield "Workspace", page_link(WORKSPACE, row.workspace_name, row.workspace_id)
        yield "Address", row.address if row.key_id else ""  # it is who asked, without a key
        yield "User agent", row.user_agent
        asked = parsed(request.GET.get("request_id__exact", ""))
        id = asked if asked in row.request_ids else row.request_ids[0]
        among = f"one of {row.requests:,}" if row.requests > 1 else ""
        yield "Request id", format_html("{} {}", copyable(id.hex), among)
        if row.response_text != reason(request, row):
            yield "First response" if row.requests > 1 else "Response", row.response_text
        yield "Document", "" if row.others else document_of(request, row)
        sent = format_html("<code>{} {}</code>", row.method, isolated(row.path))
        yield "First request, whose path alone is kept" if row.others else "Request", sent


def most_of_a_day() -> list[Any]:
    """Kinds of refused requests: faults of ours, then the most of a key or a network."""
    rows = report.refused_within(days=1)
    refused = rows.filter(status__lt=500)
    of_keys = report.kinds(refused.filter(key_id__isnull=False), *report.OF_KEY, *report.KIND)
    of_networks = report.kinds(refused.filter(key_id=None), "address", *report.KIND)
    most = sorted([*of_keys, *of_networks], key=lambda each: -each.requests)
    failed = report.kinds(rows.filter(status__gte=500), *report.OF_KEY, *report.KIND)
    if len({row.key_id for row in failed}) > 1:  # an outage of many is one thing
        failed = report.faults(rows)
    return [*failed, *most]


def reason(request: HttpRequest, row: RefusedRequest) -> str:
    """The true reason for support, and of a 401 or a 429; else what the client was told."""
    if scope_of(request).everything or row.status in (401, 429):
        return capfirst(row.reason)
    return row.response_text.partition(" Try again in ")[0]  # that time is over


def document_of(request: HttpRequest, row: RefusedRequest) -> str:
    """HTML: a link to the document that the path names, if the user may see it."""
    id = parsed(re.split("[/?]", row.path.removeprefix("/api/v1/documents/"))[0])
    # Neither app imports the other.
    documents: Any = apps.get_model("documents", "Document")._default_manager
    found = documents.filter(scope_of(request).visible(), pk=id).first()
    if found is None:
        return ""
    link = page_link(DOCUMENT, found.title, found.pk)
    if found.workspace_id != row.workspace_id:
        link = format_html("{}, of {}", link, isolated(found.workspace.name))
    return format_html("{} (deleted)", link) if found.deleted_at else link
