"""Webhooks in the console: their list, and the page of each with its last deliveries."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import CharField, Count, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat, Left, TruncDate
from django.http import HttpRequest
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from audit.models import NEWEST_FIRST
from audit.scope import ScopedAdmin, own_scope, scope_of
from config.connections import processes
from config.console.charts import Bar, bar_chart
from config.console.formatting import Bad, ago_with_exact, clock_tag, isolated, pill
from config.console.identify import Kind
from config.console.links import ENDPOINT, page_link
from config.console.object_page import ObjectPage
from events.models import KEEP_DAYS
from events.webhooks.admin import actions
from events.webhooks.admin.deliveries import SOON, held, reason, state_of, unsent
from events.webhooks.models import PENDING, UNDELIVERED, Attempt, Delivery, DeliveryState, Endpoint
from events.webhooks.monitoring import PROCESS
from events.webhooks.policy import FAILING_DAYS, KEEP
from workspaces.api_access import access_warning

SHOWN = 20  # deliveries
MOST_COUNTED = 1000  # deliveries that wait
MOST_LINES = 5  # about an own workspace's webhooks; each takes three queries
MOST_NAMED = 15  # failing webhooks of all workspaces, those that fail longest; a query each


def state(endpoint: Endpoint) -> SafeString:
    if endpoint.deleted_at:
        return pill("quiet", "Deleted")
    if not endpoint.enabled:
        return pill("bad" if endpoint.disabled_reason else "quiet", "Switched off")
    if held(endpoint):
        return pill("bad", "Waiting")
    return pill("bad", "Failing") if endpoint.failing_since else pill("ok", "On")


class EndpointPage(ObjectPage):
    template_name = "admin/webhooks/endpoint/page.html"
    obj: Endpoint

    def context(self) -> dict[str, Any]:
        endpoint, unsent_now = self.obj, unsent()
        log: Any = admin.site.get_model_admin(Delivery)
        newest = log.rows(self.request).filter(endpoint=endpoint).order_by(*NEWEST_FIRST)[:SHOWN]
        return {
            "title": endpoint.name,
            "warnings": [*unsent_now, *filter(None, [explanation(endpoint)])],
            "endpoint": endpoint,
            "state": state(endpoint),
            "chart": chart(endpoint),
            "lines": log.lines(self.request, newest),
            "deliveries_url": log.url_in(endpoint.workspace_id, endpoint_id__exact=endpoint.pk),
            "may_change": actions.may_change(self.request, endpoint),
            "undelivered": not held(endpoint) and endpoint.deliveries.filter(UNDELIVERED).exists(),
            "live": any(when == SOON for _, _, when in map(state_of, newest)),
            "sends": not unsent_now,
        }


@admin.register(Endpoint)
class EndpointAdmin(ScopedAdmin):
    """A workspace's webhooks, for its admins; support staff and operators see them."""

    title = "Webhooks"
    add_text = "Create a webhook"
    menu_position = 20
    pages = {
        "add": actions.CreateEndpoint,
        "change": EndpointPage,
        "edit": actions.ChangeEndpoint,
        "roll": actions.RollSecret,
        "switch_on": actions.SwitchOn,
        "switch_off": actions.SwitchOff,
        "test": actions.SendTestEvent,
        "again": actions.SendFailedAgain,
        "delete": actions.DeleteEndpoint,
    }
    ordering = ("-created_at", "-id")
    search_fields = ("shown",)
    search_help_text = "A part of a name or of a host, or the id beside it"
    found_by = {Kind.HOST: "shown__icontains", Kind.TEXT: "label__iexact"}

    def rows(self, request: HttpRequest) -> QuerySet[Endpoint]:
        """With what pages show, and may be found by: what follows a URL's host may be secret."""
        newest = Delivery.objects.filter(endpoint=OuterRef("pk")).order_by(*NEWEST_FIRST)
        pattern = Value("^https?://(?:[^/?#]*@)?([^/?#]+)")
        netloc = Func("url", pattern, function="substring", output_field=CharField())
        short = Left(Cast("pk", CharField()), 8)
        shown = Concat("label", Value(" "), netloc, Value(" "), short)
        last = Subquery(newest.values("created_at")[:1])
        became = Subquery(newest.values("state")[:1])
        rows: QuerySet[Endpoint] = super().rows(request).select_related("workspace")
        return rows.annotate(shown=shown, last=last, became=became)

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """For admins, also by any part of a name or a host; for all, by the id beside it."""
        is_short_id = re.fullmatch("[0-9a-f]{8}", text)
        if kind == Kind.TEXT and (is_short_id or self.shows_one_workspace(request)):
            found = self.get_queryset(request).filter(shown__icontains=text)
            return self.url_of_found(found, text)
        return super().find(request, kind, text)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Deleted ones have their pages, to which the log leads."""
        return super().get_queryset(request).filter(deleted_at=None)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return own_scope(request).workspace is not None

    # --- What is wrong

    def health(self, request: HttpRequest) -> dict[str, list[str]]:
        """The workspace's webhooks that the service has switched off, that fail or are behind."""
        workspace = own_scope(request).workspace
        own = workspace.endpoints.existing() if workspace else Endpoint.objects.none()
        if not own or actions.refusals(request):  # the section of keys says so
            return {}
        lines = unsent()
        wrong = own.failing() | own.exclude(disabled_reason="") | own.behind()
        for each in wrong[:MOST_LINES]:
            name = format_html("<b>Webhook {}</b>", page_link(ENDPOINT, each.name, each.pk))
            lines.append(explanation(each, name))
        return {"webhooks": [*filter(None, lines)]}

    def warnings(self, request: HttpRequest) -> list[str]:
        """For staff too, that nothing is sent."""
        return actions.refusals(request) or super().warnings(request) or unsent()

    def needs_a_look(self, request: HttpRequest) -> Iterable[tuple[UUID, str, SafeString]]:
        for each in Endpoint.objects.failing().filter(scope_of(request).visible())[:MOST_NAMED]:
            name = format_html("<b>Webhook {}</b>", page_link(ENDPOINT, each.name, each.pk))
            why = format_html("{} {}.", pill("bad", "Failing"), began(each, name))
            text = "{} Its receiver has to be repaired: after {} days, the webhook is switched off."
            text = format_html(text, why, FAILING_DAYS)
            yield each.workspace_id, each.workspace.name, Bad(text)

    def as_rows(self, objects: Iterable[Endpoint]) -> Iterable[dict[str, Any]]:
        return ({"endpoint": each, "state": state(each)} for each in objects)


def chart(endpoint: Endpoint) -> SafeString:
    """HTML: its deliveries of the last 30 days (UTC), a bar for each day.

    "" if no two days have any. It reads a range of an index: 100,000 deliveries in about 0.2 s.
    """
    delivered = Q(state=DeliveryState.DELIVERED)
    rows = endpoint.deliveries.values_list(TruncDate("created_at")).annotate(
        done=Count("pk", filter=delivered), rest=Count("pk", filter=~delivered)
    )
    numbers = {day: (done, rest) for day, done, rest in rows}
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in reversed(range(KEEP.days))]
    bars = [Bar(f"{day:%-d %b}", numbers.get(day, (0, 0))) for day in days]
    names = {"delivered": "ok", "not delivered": "bad"}
    return bar_chart(bars, label="Deliveries by day", names=names)


def explanation(endpoint: Endpoint, subject: str = "It") -> SafeString:
    """Why it receives nothing, or fails, and what to do about it; "" if all is well."""
    if endpoint.deleted_at:
        return format_html("It was deleted {}.", ago_with_exact(endpoint.deleted_at))
    if not endpoint.enabled:
        reason = endpoint.disabled_reason
        text = format_html(
            "{} was switched off {}{}. Events since then were not sent to it: read them with "
            "<code>GET /api/v1/events</code>, which has those of the last {} days.",
            subject,
            ago_with_exact(endpoint.disabled_at or endpoint.created_at),
            format_html(" because {}", isolated(reason)) if reason else "",
            KEEP_DAYS,
        )
        return Bad(text) if reason else text
    if why := access_warning(endpoint.workspace, "deliveries wait"):
        return Bad(escape(why))
    if endpoint.failing_since:
        why = "{}. {} Repair the receiver: after {} days, the webhook is switched off."
        waiting = waits(endpoint.deliveries)
        return Bad(format_html(why, began(endpoint, subject), waiting, FAILING_DAYS))
    failed = endpoint.deliveries.filter(UNDELIVERED, PENDING)
    why = "{} works now. Of what has failed, {}"
    return format_html(why, subject, waits(failed)) if failed.exists() else SafeString("")


def began(endpoint: Endpoint, subject: str) -> SafeString:
    """Since when it fails, and why. A delivery that was not attempted yet is due before others."""
    waiting = {"delivery__endpoint": endpoint, "delivery__state": DeliveryState.PENDING}
    order = ("delivery__next_attempt_at", "delivery_id", "number")
    last = Attempt.objects.filter(**waiting).order_by(*order).last()
    since = ago_with_exact(endpoint.failing_since or endpoint.created_at)
    return format_html("{} began to fail {}{}", subject, since, f": {reason(last)}" if last else "")


def waits(deliveries: Any) -> SafeString:
    """How many of them wait, and until when."""
    pending = deliveries.filter(PENDING).order_by("next_attempt_at", "id")
    times: list[Any] = list(pending.values_list("next_attempt_at", flat=True)[:MOST_COUNTED])
    number = f"{len(times):,}{' or more' if len(times) == MOST_COUNTED else ''}"
    following = ""
    if times and processes(PROCESS):
        at = format_html("at {}", clock_tag(times[0])) if times[0] > timezone.now() else "due now"
        following = format_html(" The next attempt is {}.", at)
    plural = pluralize(len(times), "y waits,ies wait")
    return format_html("{} deliver{}.{}", number, plural, following)
