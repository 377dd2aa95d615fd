"""Deliveries in the admin: those to a webhook, on its page, and the page of each."""

from typing import Any

from django.contrib import admin
from django.db.models import Model, Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.scope import sees_every_workspace
from config.api.responses import as_json
from config.console.base import request_user
from config.console.changelist import ReadOnlyAdmin
from config.console.formatting import date_column, isolated, pill, time_tag
from config.console.object_page import ObjectPage
from config.templatetags.console import copyable
from events.serializers import event_of
from events.webhooks.admin.actions import SendAgain
from events.webhooks.admin.forms import DeliveryFilter
from events.webhooks.admin.texts import ENDPOINT, LIST, explanation, sent_once, waiting
from events.webhooks.models import TEST_EVENT, Attempt, Delivery, DeliveryState, Endpoint
from workspaces.directory import label_for, own_workspaces

NO_REDIRECTS = "Redirects are not followed."
DUE = "as soon as possible"
PILLS: dict[str, str] = {DeliveryState.DELIVERED: "ok", DeliveryState.FAILED: "bad"}


class WebhookAccess(ReadOnlyAdmin):
    """Only admins of its workspace change a webhook; support staff and operators see it.

    All access goes through `get_queryset`, so that for anybody else it does not exist.

    Attributes:
        workspace_lookup: from a row to its workspace.
    """

    workspace_lookup = "workspace"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        if not sees_every_workspace(request_user(request)):
            rows = rows.filter(**{f"{self.workspace_lookup}__in": list(own_workspaces(request))})
        return rows.select_related(self.workspace_lookup)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_every_workspace(request_user(request)) or bool(own_workspaces(request))

    def history_url(self, obj: Model) -> str:
        raise Http404  # entries have no id of a webhook


def may_change(request: HttpRequest, endpoint: Endpoint) -> bool:
    """Whether the user may change the endpoint: it exists, in an own workspace."""
    return endpoint.deleted_at is None and endpoint.workspace_id in own_workspaces(request)


class DeliveryPage(ObjectPage):
    template_name = "admin/webhooks/delivery/page.html"
    obj: Delivery

    def context(self) -> dict[str, Any]:
        delivery, endpoint, next = self.obj, self.obj.endpoint, next_attempt(self.obj)
        return {
            "title": f"{delivery.type} · {delivery.public_event_id}",
            "delivery": delivery,
            "endpoint": endpoint,
            "deleted": explanation(endpoint) if endpoint.deleted_at else "",
            "document": self.section.document(delivery),
            "workspace": label_for(self.request, endpoint.workspace),
            "state": state_pill(delivery),
            "next": next,
            "live": next == DUE,
            "waiting": waiting(endpoint.workspace),
            "body": as_json(event_of(delivery)).decode(),  # as every attempt sends it
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
        return format_html('<a href="{}">{}</a>', url, isolated(delivery.endpoint.name))

    @admin.display(description="document")
    def document(self, delivery: Delivery) -> str:
        is_test = delivery.type == TEST_EVENT
        return "–" if is_test else copyable(delivery.document_id)

    @admin.display(description="state")
    def became(self, delivery: Delivery) -> str:
        attempts = list(delivery.attempt_set.all())
        last = outcome(attempts[-1]) if attempts else ""
        return format_html('{} <div class="quiet">{}</div>', state_pill(delivery), last)

    @admin.display(description="next attempt")
    def next(self, delivery: Delivery) -> str:
        return next_attempt(delivery)


class DeliveriesOf(DeliveryAdmin):
    change_list_template = "admin/webhooks/endpoint/page.html"
    list_display = ("when", "event", "document", "became", "next")
    empty_text = "Nothing was sent to it in the last 30 days."

    def __init__(self, endpoint: Endpoint, site: admin.AdminSite) -> None:
        super().__init__(Delivery, site)
        self.endpoint = endpoint


def state_pill(delivery: Delivery) -> SafeString:
    """What became of a delivery; of those that are pending, which ones have failed already."""
    kind, label = PILLS.get(delivery.state, "warn"), DeliveryState(delivery.state).label
    if delivery.state == DeliveryState.PENDING and delivery.endpoint.deleted_at:
        kind, label = "quiet", "Not sent: the webhook was deleted"
    elif delivery.state == DeliveryState.PENDING and sent_once(delivery.endpoint):
        label = "Waiting"
    elif delivery.state == DeliveryState.PENDING and delivery.failures:
        label = "Retrying"
    return pill(kind, label)


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
