"""Deliveries in the admin: those to a webhook, on its page, and the page of each."""

from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.api.responses import as_json
from config.console.formatting import date_column, pill, time_tag
from config.console.object_page import ObjectPage
from config.templatetags.console import copyable
from events.serializers import event
from events.webhooks.admin.access import WebhookAccess, may_change
from events.webhooks.admin.actions import SendAgain
from events.webhooks.admin.forms import DeliveryFilter
from events.webhooks.admin.texts import ENDPOINT, LIST, explanation, sent_once, waiting
from events.webhooks.models import TEST_DOCUMENT, Attempt, Delivery, DeliveryState, Endpoint
from events.webhooks.monitoring import figures
from workspaces.directory import label_for

NO_REDIRECTS = "Redirects are not followed."
DUE = "as soon as possible"
PILLS: dict[str, str] = {DeliveryState.DELIVERED: "ok", DeliveryState.FAILED: "bad"}


class DeliveryPage(ObjectPage):
    """What was sent, and every attempt."""

    template_name = "admin/webhooks/delivery/page.html"
    obj: Delivery

    def context(self) -> dict[str, Any]:
        delivery, endpoint, next = self.obj, self.obj.endpoint, next_attempt(self.obj)
        return {
            "title": f"{delivery.type} · {delivery.public_event_id}",
            "delivery": delivery,
            "endpoint": endpoint,
            "deleted": explanation(endpoint) if endpoint.deleted_at else "",
            "document": document_of(delivery),
            "workspace": label_for(self.request, endpoint.workspace),
            "state": pill_of(delivery),
            "next": next,
            "live": next == DUE,
            "waiting": waiting(endpoint.workspace),
            "body": sent_body(delivery),
            "no_redirects": NO_REDIRECTS,
            "attempts": delivery.attempt_set.order_by("number"),
            "may_send": may_change(self.request, endpoint) and may_send(delivery),
        }

    def crumbs(self) -> list[tuple[str, str]]:
        endpoint = self.obj.endpoint
        return [
            ("Webhooks", reverse(LIST)),
            (endpoint.name, reverse(ENDPOINT, args=[endpoint.pk])),
        ]


@admin.register(Delivery)
class DeliveryAdmin(WebhookAccess):
    """A list to search among the deliveries of all webhooks that the user may see."""

    pages = {"change": DeliveryPage, "again": SendAgain}
    is_log = True
    workspace_lookup = "endpoint__workspace"
    endpoint: Endpoint | None = None
    list_display: tuple[str, ...] = ("when", "event", "endpoint_link", "document", "became", "next")
    list_display_links = ("when",)
    empty_text = "Search for the id of an event or of a document."

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The section is that of the webhooks."""
        return False

    def figures(self) -> list[tuple[str, list[str]]]:
        return figures()

    def get_filter_form(self, request: HttpRequest) -> DeliveryFilter:
        return DeliveryFilter(request.GET, self.endpoint)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        attempts = Attempt.objects.order_by("number").defer("response")
        return super().get_queryset(request).prefetch_related(Prefetch("attempt_set", attempts))

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"title": "Find a delivery", "crumbs": [("Webhooks", reverse(LIST))]}
        return super().changelist_view(request, {**context, **(extra_context or {})})

    # --- Columns

    when = date_column("created_at", "added")

    @admin.display(description="event")
    def event(self, delivery: Delivery) -> str:
        return format_html("{}<div>{}</div>", delivery.type, copyable(delivery.public_event_id))

    @admin.display(description="webhook")
    def endpoint_link(self, delivery: Delivery) -> str:
        url = reverse(ENDPOINT, args=[delivery.endpoint_id])
        return format_html('<a href="{}">{}</a>', url, delivery.endpoint.name)

    @admin.display(description="document")
    def document(self, delivery: Delivery) -> str:
        return document_of(delivery)

    @admin.display(description="state")
    def became(self, delivery: Delivery) -> str:
        attempts = list(delivery.attempt_set.all())
        last = outcome(attempts[-1]) if attempts else ""
        return format_html('{} <div class="quiet">{}</div>', pill_of(delivery), last)

    @admin.display(description="next attempt")
    def next(self, delivery: Delivery) -> str:
        return next_attempt(delivery)


class DeliveriesOf(DeliveryAdmin):
    """The list on the page of one endpoint."""

    change_list_template = "admin/webhooks/endpoint/page.html"
    list_display = ("when", "event", "document", "became", "next")
    empty_text = "Nothing was sent to it in the last 30 days."

    def __init__(self, endpoint: Endpoint, site: admin.AdminSite) -> None:
        super().__init__(Delivery, site)
        self.endpoint = endpoint


def state_pill(state: str, failures: int, endpoint: Endpoint) -> SafeString:
    """What became of a delivery; of those that are pending, which ones have failed already."""
    kind, label = PILLS.get(state, "warn"), DeliveryState(state).label
    if state == DeliveryState.PENDING and endpoint.deleted_at:
        kind, label = "quiet", "Not sent: the webhook was deleted"
    elif state == DeliveryState.PENDING and failures:
        label = "Retrying"
    return pill(kind, label)


def pill_of(delivery: Delivery) -> SafeString:
    return state_pill(delivery.state, delivery.failures, delivery.endpoint)


def document_of(delivery: Delivery) -> SafeString | str:
    if delivery.document_id == TEST_DOCUMENT:
        return "–"
    return copyable(delivery.document_id)


def sent_body(delivery: Delivery) -> str:
    """The JSON text, as every attempt sends it."""
    return as_json(
        event(
            delivery.event_id,
            delivery.type,
            delivery.occurred_at,
            str(delivery.document_id),
            delivery.status,
        )
    ).decode()


def may_send(delivery: Delivery) -> bool:
    """Whether it was attempted already, as `queue.send_again` asks."""
    return delivery.state != DeliveryState.PENDING or delivery.failures > 0


def outcome(attempt: Attempt) -> str:
    """ "200 in 31 ms", or why there was no complete response."""
    if attempt.error:
        return attempt.error
    text = f"{attempt.status} in {attempt.milliseconds:,} ms"
    return f"{text}. {NO_REDIRECTS}" if attempt.is_redirect else text


def next_attempt(delivery: Delivery) -> SafeString | str:
    """When the next attempt is; "" if there is none."""
    endpoint = delivery.endpoint
    if delivery.next_attempt_at is None or endpoint.deleted_at:
        return ""
    if when := sent_once(endpoint):
        return when
    if delivery.next_attempt_at <= timezone.now():
        return DUE
    return time_tag(delivery.next_attempt_at)
