"""Deliveries in the console: a list, each row of which opens with its body and attempts."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.scope import ScopedAdmin, own_scope, suspended_warnings
from config.api.responses import as_json
from config.console import lists
from config.console.formatting import time_tag
from config.console.identify import Kind
from config.console.links import DOCUMENT, ENDPOINT, WORKSPACE, page_link
from config.templatetags.console import copyable
from events.models import EventType
from events.serializers import event_of
from events.webhooks.admin.actions import SendAgain
from events.webhooks.admin.texts import sent_once
from events.webhooks.models import (
    PENDING,
    TEST_EVENT,
    Attempt,
    Delivery,
    DeliveryState,
    Endpoint,
)

NO_REDIRECTS = "Redirects are not followed."
DUE = "as soon as possible"
COLOURS: dict[str, str] = {DeliveryState.DELIVERED: "ok", DeliveryState.FAILED: "bad"}
STATES = {
    "PENDING": ("Pending", PENDING & Q(failures=0)),
    "RETRYING": ("Retrying", PENDING & Q(failures__gt=0)),
    "DELIVERED": ("Delivered", Q(state=DeliveryState.DELIVERED)),
    "FAILED": ("Failed", Q(state=DeliveryState.FAILED)),
}


def may_change(request: HttpRequest, endpoint: Endpoint) -> bool:
    """Whether the user may change the endpoint: it exists, in an own workspace."""
    return endpoint.deleted_at is None and own_scope(request).is_own(endpoint.workspace_id)


class DeliveryFilter(lists.LogFilter):
    """What the list can be narrowed by; an endpoint and an event have an index each."""

    state = lists.any_of("State", [(name, label) for name, (label, _) in STATES.items()])
    type__exact = lists.any_of("Kind", [(each, each) for each in (*EventType.values, TEST_EVENT)])
    endpoint_id__exact = lists.linked("Webhook")
    event_id__exact = lists.linked("Event")

    def condition(self) -> Q:
        state = self.cleaned_data["state"]
        return super().condition() & (STATES[state][1] if state else Q())


@admin.register(Delivery)
class DeliveryAdmin(ScopedAdmin, lists.LogAdmin):
    pages = {"again": SendAgain}
    filter_form = DeliveryFilter
    finds = {Kind.EVENT: ("event_id__exact",)}
    empty_text = "Nothing was sent in the last 30 days."

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The menu leads to the audit log, whose page leads here."""
        return False

    def rows(self, request: HttpRequest) -> QuerySet[Delivery]:
        attempts = Attempt.objects.order_by("number").defer("response")
        rows = super().rows(request).select_related("endpoint__workspace")
        return rows.prefetch_related(Prefetch("attempt_set", attempts))

    def warnings(self, request: HttpRequest) -> list[str]:
        return [*suspended_warnings(request), *super().warnings(request)]

    # --- A row

    def line(self, request: HttpRequest, row: Delivery) -> lists.Line:
        word, colour = state_of(row)
        attempts = list(row.attempt_set.all())
        parts = [row.type, document(row), outcome(attempts[-1]) if attempts else ""]
        if next := next_attempt(row):
            parts.append(format_html("again {}", next) if attempts else next)
        what = format_html(", ".join("{}" for part in parts if part), *filter(None, parts))
        who = page_link(ENDPOINT, row.endpoint.name, row.endpoint_id)
        return lists.Line(word, colour, who, what)

    def facts(self, request: HttpRequest, row: Delivery) -> Iterable[tuple[str, Any]]:
        yield "Added", time_tag(row.created_at)
        yield "Next attempt", next_attempt(row)
        yield "Webhook", page_link(ENDPOINT, row.endpoint.name, row.endpoint_id)
        yield "Workspace", page_link(WORKSPACE, row.workspace_name, row.workspace_id)
        yield "Event", copyable(row.public_event_id)
        yield "Document", document(row)

    def details(self, request: HttpRequest, row: Delivery) -> SafeString:
        context = {
            "delivery": row,
            "body": as_json(event_of(row)).decode(),  # as every attempt sends it
            "attempts": Attempt.objects.filter(delivery=row).order_by("number"),
            "no_redirects": NO_REDIRECTS,
            "may_send": may_change(request, row.endpoint) and may_send(row),
        }
        more = render_to_string("admin/webhooks/delivery.html", context, request)
        return SafeString(super().details(request, row) + more)


def document(delivery: Delivery) -> str:
    """HTML: a link to the document; nothing for a test event, which has none."""
    if delivery.type == TEST_EVENT:
        return ""
    return page_link(DOCUMENT, f"document {str(delivery.document_id)[:8]}…", delivery.document_id)


def state_of(delivery: Delivery) -> tuple[str, str]:
    """What became of a delivery, and its colour; of those that wait, which have failed already."""
    if delivery.state != DeliveryState.PENDING:
        return str(DeliveryState(delivery.state).label), COLOURS[delivery.state]
    if delivery.endpoint.deleted_at:
        return "Not sent: the webhook was deleted", ""
    if sent_once(delivery.endpoint):
        return "Waiting", ""
    return ("Retrying" if delivery.failures else "Pending"), "warn"


def may_send(delivery: Delivery) -> bool:
    """Whether it was attempted already, as `services.send_again` asks."""
    return delivery.state != DeliveryState.PENDING or delivery.failures > 0


def outcome(attempt: Attempt) -> str:
    """ "200 in 31 ms", or why there was no response."""
    if attempt.error:
        return attempt.error
    text = f"{attempt.status} in {attempt.milliseconds:,} ms"
    return f"{text}. {NO_REDIRECTS}" if attempt.is_redirect else text


def next_attempt(delivery: Delivery) -> SafeString | str:
    endpoint = delivery.endpoint
    if delivery.next_attempt_at is None or endpoint.deleted_at:
        return ""
    if when := sent_once(endpoint):
        return when
    if delivery.next_attempt_at <= timezone.now():
        return DUE
    return time_tag(delivery.next_attempt_at)
