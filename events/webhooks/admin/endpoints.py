"""Webhooks in the console: their list, and the page of each with its last deliveries."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.scope import ScopedAdmin, own_scope
from config.console.formatting import Bad, ago_with_exact, isolated, pill, time_tag
from config.console.identify import Kind
from config.console.links import DELIVERIES, LOG, filtered
from config.console.object_page import ObjectPage
from events.webhooks import services
from events.webhooks.admin import actions
from events.webhooks.admin.deliveries import may_change
from events.webhooks.admin.texts import explanation, sent_once, state_pill, waiting, warnings
from events.webhooks.models import FAILING, PENDING, Delivery, Endpoint

SHOWN = 50  # deliveries
MOST_NAMED = 20  # failing webhooks of all workspaces, those that fail longest
EXISTING = Q(deleted_at=None)
STATES = {
    "on": ("On", EXISTING & Q(enabled=True, failing_since=None)),
    "failing": ("Failing", EXISTING & Q(enabled=True, failing_since__isnull=False)),
    "off": ("Switched off", EXISTING & Q(enabled=False)),
    "deleted": ("Deleted", ~EXISTING),
}


class EndpointStateFilter(admin.SimpleListFilter):
    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, label) for name, (label, _) in STATES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(STATES.get(self.value() or "", ("", EXISTING))[1])


class EndpointPage(ObjectPage):
    template_name = "admin/webhooks/endpoint/page.html"
    obj: Endpoint

    def context(self) -> dict[str, Any]:
        endpoint, may = self.obj, may_change(self.request, self.obj)
        due = endpoint.deliveries.filter(PENDING, next_attempt_at__lte=Now())
        log: Any = admin.site.get_model_admin(Delivery)
        newest = log.rows(self.request).filter(endpoint=endpoint).order_by("-created_at", "-id")
        return {
            "title": endpoint.name,
            "warnings": filter(None, [waiting(endpoint.workspace)]),
            "endpoint": endpoint,
            # What follows the host may be a secret.
            "address": endpoint.url if may else endpoint.public_url,
            "state": state_pill(endpoint),
            "explanation": explanation(endpoint),
            "log_url": self.section.history_url(endpoint),
            "deliveries_url": filtered(
                DELIVERIES,
                workspace_id__exact=endpoint.workspace_id,
                endpoint_id__exact=endpoint.pk,
            ),
            "lines": [
                {"row": row, "line": log.line(self.request, row), "url": log.url_of(row)}
                for row in newest[:SHOWN]
            ],
            "one_workspace": True,
            "may_change": may,
            # As far as one click sends them again.
            "failed": endpoint.deliveries.filter(FAILING)[: services.MOST_AGAIN].count()
            if may
            else 0,
            # Whether deliveries to it are being sent now.
            "live": not endpoint.deleted_at and not sent_once(endpoint) and due.exists(),
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
    change_list_template = "admin/webhooks/endpoint/change_list.html"
    list_display = ("address", "events", "state", "last_delivery")
    list_display_links = ("address",)
    list_filter = (EndpointStateFilter,)
    list_per_page = 50
    ordering = ("-created_at", "-id")
    search_fields = ("label",)
    search_help_text = "A part of a name, or of a host"
    sortable_by = ()
    actions = None
    empty_value_display = "–"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Endpoint], search_term: str
    ) -> tuple[QuerySet[Endpoint], bool]:
        """Also by the host of the URL. What follows it may have a token."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if host := re.sub("^https?://|[/?#].*", "", search_term):
            found |= queryset.filter(url__iregex=rf"^https?://[^/?#]*{re.escape(host)}")
        return found, may_repeat

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """Also by the whole host of the URL."""
        if kind != Kind.HOST:
            return super().find(request, kind, text)
        url = rf"^https?://([^/?#]*@)?{re.escape(text)}([:/?#]|$)"
        existing = self.get_queryset(request).filter(EXISTING, url__iregex=url)
        return self.url_of_found(existing, text)

    def heading(self, obj: Endpoint) -> str:
        return obj.name

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return own_scope(request).workspace is not None

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return (*self.list_display, *["workspace"] * (not self.shows_one_workspace(request)))

    def rows(self, request: HttpRequest) -> QuerySet[Endpoint]:
        newest = Delivery.objects.filter(endpoint=OuterRef("pk")).order_by("-created_at", "-id")
        last_at = Subquery(newest.values("created_at")[:1])
        rows: QuerySet[Endpoint] = super().rows(request).select_related("workspace")
        return rows.annotate(last_at=last_at)

    def history_url(self, obj: Endpoint) -> str:
        return filtered(LOG, workspace_id__exact=obj.workspace_id)

    # --- The list

    def warnings(self, request: HttpRequest) -> list[str]:
        """Also why deliveries wait."""
        own = own_scope(request).workspace
        return [*map(Bad, filter(None, [own and waiting(own)])), *super().warnings(request)]

    def health(self, request: HttpRequest) -> dict[str, list[str]]:
        """The workspace's webhooks that the service has switched off, and those that fail now."""
        if own_scope(request).workspace is None:
            return {}
        own = Endpoint.objects.existing().filter(own_scope(request).condition())
        off = own.filter(enabled=False).exclude(disabled_reason="").order_by("disabled_at")
        failing = own.filter(enabled=True, failing_since__isnull=False).order_by("failing_since")
        return {"webhooks": [*warnings("off", list(off)), *warnings("failing", list(failing))]}

    def needs_a_look(self) -> Iterable[tuple[UUID, SafeString]]:
        failing = Endpoint.objects.existing().filter(enabled=True, failing_since__isnull=False)
        for each in failing.order_by("failing_since")[:MOST_NAMED]:
            text = "{} {} since {}"
            word, since = (
                pill("bad", "webhook fails"),
                time_tag(each.failing_since or each.created_at),
            )
            yield each.workspace_id, format_html(text, word, isolated(each.name), since)

    @admin.display(description="webhook")
    def address(self, endpoint: Endpoint) -> str:
        host = urlsplit(endpoint.url).hostname if endpoint.label else ""
        return format_html('{}<div class="quiet">{}</div>', isolated(endpoint.name), host)

    @admin.display(description="events")
    def events(self, endpoint: Endpoint) -> str:
        return ", ".join(endpoint.types)

    @admin.display(description="state")
    def state(self, endpoint: Endpoint) -> str:
        return state_pill(endpoint)

    @admin.display(description="last delivery")
    def last_delivery(self, endpoint: Any) -> str:
        return ago_with_exact(endpoint.last_at) if endpoint.last_at else ""
