"""Deliveries in the console: a list whose rows open with their body and attempts."""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.apps import apps
from django.contrib import admin
from django.db.models import OuterRef, Prefetch, QuerySet, Subquery
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from audit.logs import LogAdmin
from config.api.responses import as_json
from config.connections import processes
from config.console import lists
from config.console.formatting import Bad, clock_tag
from config.console.identify import Kind
from config.console.links import DOCUMENT, ENDPOINT, WORKSPACE, page_link
from config.templatetags.console import copyable
from events.models import EventType
from events.serializers import event_of
from events.webhooks.admin.actions import SendAgain, may_change
from events.webhooks.models import TEST_EVENT, Attempt, Delivery, DeliveryState, Endpoint
from events.webhooks.monitoring import LATE_SECONDS, PROCESS, read_status
from workspaces.api_access import access_warning

SOON = "to be sent as soon as possible"
COLOURS: dict[str, str] = {DeliveryState.DELIVERED: "ok", DeliveryState.FAILED: "bad"}


class DeliveryFilter(lists.LogFilter):
    """What the list can be narrowed by; an endpoint and an event have an index each."""

    state__exact = lists.any_of("State", DeliveryState.choices)
    type__exact = lists.any_of("Kind", [(each, each) for each in (*EventType.values, TEST_EVENT)])
    endpoint_id__exact = lists.linked("Webhook")
    event_id__exact = lists.linked("Event")


@admin.register(Delivery)
class DeliveryAdmin(LogAdmin):
    pages = {"again": SendAgain}
    in_menu = False  # the audit log leads here
    who = "Webhook"  # its column
    filter_form = DeliveryFilter
    finds = {Kind.EVENT: ("event_id__exact",)}
    empty_text = "Nothing matches: deliveries of the last 30 days are kept."

    def rows(self, request: HttpRequest) -> QuerySet[Delivery]:
        # Neither app imports the other.
        documents = apps.get_model("documents", "Document")._default_manager
        same = {"pk": OuterRef("document_id"), "workspace_id": OuterRef("workspace_id")}
        title = Subquery(documents.filter(**same).values("title")[:1])
        attempts = Prefetch("attempt_set", Attempt.objects.order_by("number"))
        rows: QuerySet[Delivery] = super().rows(request).annotate(document_title=title)
        return rows.prefetch_related(attempts).select_related("endpoint__workspace")

    def warnings(self, request: HttpRequest) -> list[str]:
        return [*unsent(), *super().warnings(request)]

    def line(self, request: HttpRequest, row: Any) -> lists.Line:
        word, colour, when = state_of(row)
        title = row.document_title and page_link(DOCUMENT, row.document_title, row.document_id)
        last = [reason(each) for each in list(row.attempt_set.all())[-1:]]
        number = f"{row.attempts} attempts" if row.attempts > 1 else ""
        which = format_html_join(", ", "{}", ((part,) for part in (row.type, title) if part))
        why = format_html_join(", ", "{}", ((part,) for part in (*last, number, when) if part))
        what = format_html('<div>{}</div><div class="quiet">{}</div>', which, why)
        who = page_link(ENDPOINT, row.endpoint.name, row.endpoint_id)
        return lists.Line(word, colour, who, what)

    def facts(self, request: HttpRequest, row: Any) -> Iterable[tuple[str, Any]]:
        yield "Workspace", page_link(WORKSPACE, row.workspace_name, row.workspace_id)
        yield "Event", copyable(row.public_event_id)

    def details(self, request: HttpRequest, row: Any) -> SafeString:
        *_, when = state_of(row)
        context = {
            "delivery": row,
            "when": when,
            "body": msgspec.json.format(as_json(event_of(row))).decode(),
            "attempts": row.attempt_set.all(),
            "live": when == SOON,
            "sends": not unsent(),
            "may_send": may_change(request, row.endpoint) and row.attempts > 0,
        }
        more = render_to_string("admin/webhooks/delivery.html", context, request)
        return SafeString(super().details(request, row) + more)


def state_of(delivery: Delivery) -> tuple[str, str, str]:
    """What became of a delivery, its colour, and when it is sent, if it is."""
    at = delivery.next_attempt_at
    if at is None:
        return str(DeliveryState(delivery.state).label), COLOURS[delivery.state], ""
    if delivery.endpoint.deleted_at:
        return "Discarded", "", ""
    if wait := held(delivery.endpoint):
        return "Waiting", "", wait
    when = SOON if at <= timezone.now() else format_html("due again at {}", clock_tag(at))
    return "Retrying" if delivery.failures else "Pending", "warn", when


def held(endpoint: Endpoint) -> str:
    """Until when nothing is sent to it; "" if deliveries are sent. As `queue.READY`."""
    if not endpoint.enabled:
        return "once the webhook is switched on"
    return "once the workspace may use the API" if access_warning(endpoint.workspace) else ""


def reason(attempt: Attempt) -> str:
    """How it ended, to go on in a sentence."""
    return attempt.outcome[0].lower() + attempt.outcome[1:].rstrip(".")


def unsent() -> list[str]:
    """That the service sends nothing at present, or too late, as the check; empty if it does."""
    sent = processes(PROCESS)
    if sent and read_status().overdue <= LATE_SECONDS:
        return []
    how = "webhooks too late" if sent else "no webhooks"
    wait = "Deliveries wait until an operator has repaired it."
    return [Bad(f"<b>The service sends {how} at present.</b> {wait}")]
