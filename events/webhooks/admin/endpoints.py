"""Webhooks in the admin: their list, and the page of each with its deliveries."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.contrib import admin
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html

from audit.admin.links import filtered_log_url
from audit.scope import sees_every_workspace
from config.console.base import request_user
from config.console.changelist import KeysetChangeList
from config.console.formatting import Bad, ago_with_exact, isolated
from config.console.object_page import ObjectPage
from events.webhooks import services
from events.webhooks.admin import actions
from events.webhooks.admin.deliveries import DeliveriesOf, WebhookAccess, may_change
from events.webhooks.admin.deliveries import state_pill as delivery_pill
from events.webhooks.admin.forms import EndpointFilter
from events.webhooks.admin.texts import explanation, sent_once, state_pill, waiting, warnings
from events.webhooks.models import FAILING, PENDING, Attempt, Delivery, Endpoint
from workspaces.directory import label_for, own_workspaces
from workspaces.models import Workspace

MOST_FAILURES = 1000  # deliveries that are looked at


class EndpointChangeList(KeysetChangeList):
    """Names the workspaces as the user knows them."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        for row in self.result_list:
            row.workspace_label = label_for(request, row.workspace)


class EndpointPage(ObjectPage):
    obj: Endpoint

    def get(self, request: HttpRequest) -> HttpResponse:
        endpoint, may = self.obj, may_change(request, self.obj)
        failing = endpoint.deliveries.filter(FAILING)
        due = endpoint.deliveries.filter(PENDING, next_attempt_at__lte=Now())
        return DeliveriesOf(endpoint, self.section.admin_site).changelist_view(
            request,
            {
                "opts": self.section.opts,
                "title": endpoint.name,
                "crumbs": self.crumbs(),
                "warnings": filter(None, [waiting(endpoint.workspace)]),
                "endpoint": endpoint,
                # What follows the host may be a secret.
                "address": endpoint.url if may else endpoint.public_url,
                "state": state_pill(endpoint),
                "explanation": explanation(endpoint),
                "workspace_label": label_for(request, endpoint.workspace),
                "log_url": filtered_log_url(workspace_id__exact=endpoint.workspace_id),
                "may_change": may,
                # As far as one click sends them again.
                "failed": failing[: services.MOST_AGAIN].count() if may else 0,
                # Whether deliveries to it are being sent now.
                "live": not endpoint.deleted_at and not sent_once(endpoint) and due.exists(),
            },
        )


@admin.register(Endpoint)
class EndpointAdmin(WebhookAccess):
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
    list_display_links = ("address",)
    search_fields = ("label",)  # of the search in the header

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Endpoint], search_term: str
    ) -> tuple[QuerySet[Endpoint], bool]:
        """Also by the host of the URL. What follows it may have a token."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if host := re.sub("^https?://|[/?#].*", "", search_term):
            found |= queryset.filter(url__iregex=rf"^https?://[^/?#]*{re.escape(host)}")
        return found, may_repeat

    def heading(self, obj: Endpoint) -> str:
        return obj.name

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(own_workspaces(request))

    # --- The list

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[EndpointChangeList]:
        return EndpointChangeList

    def get_filter_form(self, request: HttpRequest) -> EndpointFilter:
        everything = sees_every_workspace(request_user(request))
        return EndpointFilter(request.GET, None if everything else own_workspaces(request))

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        several = sees_every_workspace(request_user(request)) or len(own_workspaces(request)) > 1
        columns = ("address", "events", "state", "last_delivery", "failures")
        return (*columns, "workspace_name") if several else columns

    def get_filtered(self, request: HttpRequest, form: Any) -> QuerySet[Endpoint]:
        """With the newest delivery, and those whose last attempt has failed within 24 hours."""
        newest = Delivery.objects.filter(endpoint=OuterRef("pk")).order_by("-created_at", "-id")
        failing = Delivery.objects.filter(FAILING, endpoint=OuterRef(OuterRef("pk")))
        last = Attempt.objects.filter(
            delivery=OuterRef("pk"),
            number=OuterRef("attempts"),
            started_at__gte=timezone.now() - timedelta(hours=24),
        )
        failed = Delivery.objects.filter(Exists(last), pk__in=failing.values("pk")[:MOST_FAILURES])
        rows: QuerySet[Endpoint] = super().get_filtered(request, form)
        return rows.annotate(
            last_at=Subquery(newest.values("created_at")[:1]),
            last_state=Subquery(newest.values("state")[:1]),
            last_failures=Subquery(newest.values("failures")[:1]),
            failed=ArraySubquery(failed.values("pk")),
        )

    def warnings(self, request: HttpRequest) -> list[str]:
        """Also why deliveries of own workspaces wait."""
        own = Workspace.objects.administered_by(request_user(request)).order_by("name", "id")
        return [*map(Bad, filter(None, map(waiting, own))), *super().warnings(request)]

    def urgent_warnings(self, request: HttpRequest) -> list[str]:
        """The user's own webhooks that the service has switched off, and those that fail now."""
        own = Endpoint.objects.existing().filter(workspace__in=list(own_workspaces(request)))
        off = own.filter(enabled=False).exclude(disabled_reason="").order_by("disabled_at")
        failing = own.filter(enabled=True, failing_since__isnull=False).order_by("failing_since")
        return [*warnings("off", list(off)), *warnings("failing", list(failing))]

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
        if endpoint.last_at is None:
            return ""
        last = Delivery(
            endpoint=endpoint, state=endpoint.last_state, failures=endpoint.last_failures
        )
        return format_html("{} {}", ago_with_exact(endpoint.last_at), delivery_pill(last))

    @admin.display(description="undelivered, 24 h")
    def failures(self, endpoint: Any) -> str:
        count = len(endpoint.failed)
        return f"{count:,} or more" if count == MOST_FAILURES else f"{count:,}"

    @admin.display(description="workspace")
    def workspace_name(self, endpoint: Any) -> str:
        return str(endpoint.workspace_label)
