"""Webhooks in the console: their list, and the page of each with its last deliveries."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import CharField, Func, QuerySet, Value
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.models import NEWEST_FIRST
from audit.scope import WORKSPACE, ScopedAdmin, own_scope
from config.console.formatting import Bad, isolated, pill, time_tag
from config.console.identify import Kind
from config.console.links import DELIVERIES, ENDPOINT, filtered, page_link
from config.console.object_page import ObjectPage
from events.models import EventType
from events.webhooks import services
from events.webhooks.admin import actions
from events.webhooks.admin.days import charts
from events.webhooks.admin.texts import explanation, failing_line, state_pill, waiting
from events.webhooks.models import PENDING, UNDELIVERED, Delivery, Endpoint
from events.webhooks.monitoring import read_status

SHOWN = 20  # deliveries
MOST_NAMED = 20  # failing webhooks of all workspaces, those that fail longest


class EndpointPage(ObjectPage):
    template_name = "admin/webhooks/endpoint/page.html"
    obj: Endpoint

    def context(self) -> dict[str, Any]:
        endpoint = self.obj
        may_change = actions.may_change(self.request, endpoint)
        wait = waiting(endpoint.workspace)
        is_sending = endpoint.enabled and not endpoint.deleted_at and not wait
        due = endpoint.deliveries.filter(PENDING, next_attempt_at__lte=Now())
        # As far as one click sends them again.
        undelivered = endpoint.deliveries.filter(UNDELIVERED)[: services.MOST_AGAIN]
        log: Any = admin.site.get_model_admin(Delivery)
        newest = log.rows(self.request).filter(endpoint=endpoint).order_by(*NEWEST_FIRST)
        own = {WORKSPACE: endpoint.workspace_id, "endpoint_id__exact": endpoint.pk}
        return {
            "title": endpoint.name,
            "warnings": filter(None, [wait, explanation(endpoint)]),
            "endpoint": endpoint,
            # What follows the host may be a secret.
            "address": endpoint.url if may_change else endpoint.public_url,
            "has_all_types": len(endpoint.types) == len(EventType),
            "state": state_pill(endpoint),
            "chart": charts([endpoint.pk])[endpoint.pk],
            "deliveries_url": filtered(DELIVERIES, **own),
            "lines": log.lines(self.request, newest[:SHOWN]),
            "may_change": may_change,
            "undelivered": undelivered.count() if may_change and is_sending else 0,
            "live": is_sending and due.exists(),
        }


@admin.register(Endpoint)
class EndpointAdmin(ScopedAdmin):
    """A workspace's webhooks, for its admins; support staff and operators see them."""

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
    search_fields = ("label", "host")
    search_help_text = "A part of a name, or of a host"

    def rows(self, request: HttpRequest) -> QuerySet[Endpoint]:
        """With the hosts of their URLs; what follows them may be a secret."""
        pattern = Value("^https?://(?:[^/?#]*@)?([^:/?#]+)")
        host = Func("url", pattern, function="substring", output_field=CharField())
        rows: QuerySet[Endpoint] = super().rows(request).select_related("workspace")
        return rows.annotate(host=host)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Deleted ones have their pages, to which the log leads."""
        return super().get_queryset(request).filter(deleted_at=None)

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """Also by the whole host of the URL."""
        if kind != Kind.HOST:
            return super().find(request, kind, text)
        return self.url_of_found(self.get_queryset(request).filter(host__iexact=text), text)

    def heading(self, obj: Endpoint) -> str:
        return obj.name

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return own_scope(request).workspace is not None

    # --- What is wrong

    def warnings(self, request: HttpRequest) -> list[str]:
        """Also why deliveries wait."""
        own = own_scope(request).workspace
        wait = [waiting(own)] if own else []
        return [*filter(None, wait), *super().warnings(request)]

    def health(self, request: HttpRequest) -> dict[str, list[str]]:
        """The workspace's webhooks that the service has switched off, and those that fail now."""
        if own_scope(request).workspace is None:
            return {}
        own = Endpoint.objects.existing().filter(own_scope(request).condition())
        own = own.select_related("workspace")
        off = own.filter(enabled=False).exclude(disabled_reason="").order_by("disabled_at")
        text = "<b>Webhook {}</b>: {}"
        lines: list[str] = [
            Bad(format_html(text, page_link(ENDPOINT, each.name, each.pk), explanation(each)))
            for each in off
        ]
        if failing := own.failing():
            delivers = read_status()["webhooks_processes"] > 0
            lines += [failing_line(each, delivers=delivers) for each in failing]
        return {"webhooks": lines}

    def needs_a_look(self) -> Iterable[tuple[UUID, str, SafeString]]:
        for each in Endpoint.objects.failing().select_related("workspace")[:MOST_NAMED]:
            word, since = pill("bad", "webhook fails"), each.failing_since or each.created_at
            text = format_html("{} {} since {}", word, isolated(each.name), time_tag(since))
            yield each.workspace_id, each.workspace.name, text

    def as_rows(self, objects: Iterable[Endpoint]) -> Iterable[dict[str, Any]]:
        found = charts([each.pk for each in objects], small=True)
        for each in objects:
            yield {"endpoint": each, "state": state_pill(each), "chart": found[each.pk]}
