"""Deliveries in the admin: those to a webhook, on its page, and the page of each."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http import HttpResponseRedirect as Redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.admin.base import request_user
from config.admin.formatting import time_tag
from config.api.responses import as_json
from config.templatetags.console import copyable
from events.serializers import event
from events.webhooks import services
from events.webhooks.admin.access import (
    ENDPOINT,
    LIST,
    WebhookAccess,
    explanation,
    may_change,
    require_own,
    require_reading,
    sent_once,
    waiting,
    workspace_label,
)
from events.webhooks.admin.forms import DeliveryFilter
from events.webhooks.models import TEST_DOCUMENT, Attempt, Delivery, DeliveryState, Endpoint

NO_REDIRECTS = "Redirects are not followed."
DELIVERY = "admin:webhooks_delivery_change"
PILLS: dict[str, str] = {
    DeliveryState.DELIVERED: "pill-ok",
    DeliveryState.FAILED: "pill-bad",
}


@admin.register(Delivery)
class DeliveryAdmin(WebhookAccess):
    """A list to search among the deliveries of all webhooks that the user may see."""

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

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.again_view)
        again = path("<path:object_id>/again/", view, name="webhooks_delivery_again")
        return [again, *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"title": "Find a delivery", "crumbs": [("Webhooks", reverse(LIST))]}
        return super().changelist_view(request, {**context, **(extra_context or {})})

    # --- A delivery's page

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        delivery: Delivery = self.visible_or_404(request, object_id)
        require_reading(request)
        endpoint = delivery.endpoint
        return self.page(
            request,
            "admin/webhooks/delivery/page.html",
            title=f"{delivery.type} · {delivery.public_event_id}",
            crumbs=place(endpoint),
            delivery=delivery,
            endpoint=endpoint,
            deleted=explanation(endpoint) if endpoint.deleted_at else "",
            document=document_of(delivery),
            workspace=workspace_label(request, endpoint.workspace),
            state=pill_of(delivery),
            next=next_attempt(delivery),
            waiting=waiting(endpoint.workspace),
            body=sent_body(delivery),
            no_redirects=NO_REDIRECTS,
            attempts=delivery.attempt_set.order_by("number"),
            may_send=may_change(request, endpoint) and may_send(delivery),
        )

    def again_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        delivery: Delivery = self.visible_or_404(request, object_id)
        require_own(request, delivery.endpoint)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            services.send_again(delivery, by=request_user(request))
        except Endpoint.DoesNotExist:
            raise Http404 from None
        messages.success(request, f"It is {sent_again(delivery.endpoint)}.")
        return Redirect(reverse(DELIVERY, args=[delivery.pk]))

    # --- Columns

    @admin.display(description="added")
    def when(self, delivery: Delivery) -> str:
        return time_tag(delivery.created_at)

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


def place(endpoint: Endpoint) -> list[tuple[str, str]]:
    """The breadcrumbs of pages below the endpoint's."""
    return [
        ("Webhooks", reverse(LIST)),
        (endpoint.name, reverse(ENDPOINT, args=[endpoint.pk])),
    ]


def state_pill(state: str, failures: int, endpoint: Endpoint) -> SafeString:
    """What became of a delivery; of those that are pending, which ones have failed already."""
    kind, label = PILLS.get(state, "pill-warn"), DeliveryState(state).label
    if state == DeliveryState.PENDING and endpoint.deleted_at:
        kind, label = "pill-quiet", "Not sent: the webhook was deleted"
    elif state == DeliveryState.PENDING and failures:
        label = "Retrying"
    return format_html('<span class="pill {}">{}</span>', kind, label)


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
        return "as soon as possible"
    return time_tag(delivery.next_attempt_at)


def sent_again(endpoint: Endpoint) -> str:
    """What happens to deliveries that a user sends again, after "is" or "are"."""
    when = sent_once(endpoint)
    return f"sent again {when}" if when else "being sent again"
