"""Deliveries in the console: a list whose rows open with their body and attempts."""

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import OuterRef, Prefetch, QuerySet, Subquery
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from audit.logs import LogAdmin
from audit.scope import own_scope
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
from events.webhooks.models import TEST_EVENT, Attempt, Delivery, DeliveryState, Endpoint

SOON = "as soon as possible"
COLOURS: dict[str, str] = {DeliveryState.DELIVERED: "ok", DeliveryState.FAILED: "bad"}


def may_change(request: HttpRequest, endpoint: Endpoint) -> bool:
    """Whether the user may change the endpoint: it exists, in an own workspace."""
    return endpoint.deleted_at is None and own_scope(request).is_own(endpoint.workspace_id)


class DeliveryFilter(lists.LogFilter):
    """What the list can be narrowed by; an endpoint and an event have an index each."""

    state__exact = lists.any_of("State", DeliveryState.choices)
    type__exact = lists.any_of("Kind", [(each, each) for each in (*EventType.values, TEST_EVENT)])
    endpoint_id__exact = lists.linked("Webhook")
    event_id__exact = lists.linked("Event")


@admin.register(Delivery)
class DeliveryAdmin(LogAdmin):
    pages = {"again": SendAgain}
    filter_form = DeliveryFilter
    finds = {Kind.EVENT: ("event_id__exact",)}
    empty_text = "Nothing was sent in the last 30 days."

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The menu leads to the audit log, whose page leads here."""
        return False

    def rows(self, request: HttpRequest) -> QuerySet[Delivery]:
        # Neither app imports the other.
        documents = apps.get_model("documents", "Document")._default_manager
        same = {"pk": OuterRef("document_id"), "workspace_id": OuterRef("workspace_id")}
        title = Subquery(documents.filter(**same).values("title")[:1])
        attempts = Attempt.objects.order_by("number").defer("response")
        rows: QuerySet[Delivery] = super().rows(request).annotate(document_title=title)
        with_attempts = rows.prefetch_related(Prefetch("attempt_set", attempts))
        return with_attempts.select_related("endpoint__workspace")

    # --- A row

    def line(self, request: HttpRequest, row: Any) -> lists.Line:
        word, colour = state_of(row)
        attempts = list(row.attempt_set.all())
        next = next_attempt(row)
        parts = (
            row.type,
            document(row),
            outcome(attempts[-1]) if attempts else "",
            format_html("again {}", next) if attempts and next else next,
        )
        what = format_html_join(", ", "{}", ((part,) for part in parts if part))
        who = page_link(ENDPOINT, row.endpoint.name, row.endpoint_id)
        return lists.Line(word, colour, who, what)

    def facts(self, request: HttpRequest, row: Any) -> Iterable[tuple[str, Any]]:
        yield "Workspace", page_link(WORKSPACE, row.workspace_name, row.workspace_id)
        yield "Event", copyable(row.public_event_id)

    def details(self, request: HttpRequest, row: Any) -> SafeString:
        was_attempted = row.state != DeliveryState.PENDING or row.failures > 0
        context = {
            "delivery": row,
            "body": as_json(event_of(row)).decode(),  # as every attempt sends it
            "attempts": [
                (each, outcome(each))
                for each in Attempt.objects.filter(delivery=row).order_by("number")
            ],
            "live": next_attempt(row) == SOON,
            "may_send": may_change(request, row.endpoint) and was_attempted,
        }
        more = render_to_string("admin/webhooks/delivery.html", context, request)
        return SafeString(super().details(request, row) + more)


def document(delivery: Any) -> str:
    """HTML: a link to the document, if it is still there; nothing for a test event."""
    if delivery.type == TEST_EVENT:
        return ""
    title, id = delivery.document_title, delivery.document_id
    return page_link(DOCUMENT, title or id, id if title else None)


def state_of(delivery: Delivery) -> tuple[str, str]:
    """What became of a delivery, and its colour; of those that wait, which have failed already."""
    if delivery.state != DeliveryState.PENDING:
        return str(DeliveryState(delivery.state).label), COLOURS[delivery.state]
    if delivery.endpoint.deleted_at:
        return "Discarded", ""
    if sent_once(delivery.endpoint):
        return "Waiting", ""
    return ("Retrying" if delivery.failures else "Pending"), "warn"


def outcome(attempt: Attempt) -> str:
    """ "200 in 31 ms", or why there was no response."""
    if attempt.error:
        return attempt.error
    text = f"{attempt.status} in {attempt.milliseconds:,} ms"
    return f"{text}. Redirects are not followed." if attempt.is_redirect else text


def next_attempt(delivery: Delivery) -> SafeString | str:
    if delivery.next_attempt_at is None or delivery.endpoint.deleted_at:
        return ""
    if when := sent_once(delivery.endpoint):
        return when
    if delivery.next_attempt_at <= timezone.now():
        return SOON
    return time_tag(delivery.next_attempt_at)
