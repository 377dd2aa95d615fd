"""Who sees which webhooks in the admin, and what their states are called."""

from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin.links import filtered_log_url
from config.admin.base import request_user
from config.admin.changelist import READING, ReadOnlyAdmin
from config.admin.formatting import time_tag
from config.api.errors import PlanRequired, WorkspaceSuspended
from events.models import KEEP_DAYS
from events.webhooks.models import Endpoint
from events.webhooks.policy import FAILING_DAYS
from workspaces.api_access import check_api_access
from workspaces.directory import own_workspaces
from workspaces.links import page_url as workspace_url
from workspaces.models import Workspace
from workspaces.permissions import sees_every_workspace

LIST = "admin:webhooks_endpoint_changelist"
ENDPOINT = "admin:webhooks_endpoint_change"
MOST_WARNINGS = 3  # more webhooks in the same state have one warning
MANY = {"off": "{} webhooks are switched off", "failing": "{} webhooks are failing"}


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

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        require_reading(request)
        return super().changelist_view(request, extra_context)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        require_reading(request)
        return super().changeform_view(request, *args, **kwargs)

    def history_url(self, obj: Model) -> str:
        raise Http404  # entries have no id of a webhook


def require_reading(request: HttpRequest) -> None:
    """Raises PermissionDenied for a POST to a page that changes nothing."""
    if request.method not in READING:
        raise PermissionDenied


def may_change(request: HttpRequest, endpoint: Endpoint) -> bool:
    """Whether the user may change the endpoint: it exists, in an own workspace."""
    return endpoint.deleted_at is None and endpoint.workspace_id in own_workspaces(request)


def require_own(request: HttpRequest, endpoint: Endpoint) -> None:
    """Returns if the user may change the endpoint, and has seen that it exists.

    Raises:
        PermissionDenied: the user may only see it.
        Http404: it was deleted.
    """
    if endpoint.workspace_id not in own_workspaces(request):
        raise PermissionDenied
    if endpoint.deleted_at is not None:
        raise Http404


def workspace_label(request: HttpRequest, workspace: Workspace) -> str:
    """What to call the workspace on pages of this user."""
    return own_workspaces(request).get(workspace.id) or workspace.label


def audit_log_url(endpoint: Endpoint) -> str:
    return filtered_log_url(workspace_id__exact=endpoint.workspace_id)


def both_secrets(endpoint: Endpoint) -> bool:
    """Whether the secret before signs too."""
    until = endpoint.previous_secret_until
    return bool(endpoint.previous_secret and until and until > timezone.now())


def state_pill(endpoint: Endpoint) -> SafeString:
    """Whether it receives events."""
    if endpoint.deleted_at:
        return _pill("quiet", "Deleted")
    if not endpoint.enabled:
        return _pill("bad" if endpoint.disabled_reason else "quiet", "Switched off")
    return _pill("warn", "Failing") if endpoint.failing_since else _pill("ok", "On")


def _pill(kind: str, text: str) -> SafeString:
    return format_html('<span class="pill pill-{}">{}</span>', kind, text)


def explanation(endpoint: Endpoint) -> SafeString:
    """Why it receives nothing, or fails, and what to do about it; "" if all is well."""
    if endpoint.deleted_at:
        return format_html("The webhook was deleted on {}.", time_tag(endpoint.deleted_at))
    if endpoint.enabled and endpoint.failing_since:
        return format_html(
            "Every attempt has failed since {}. After {} days of that, it is switched off.",
            time_tag(endpoint.failing_since),
            FAILING_DAYS,
        )
    if endpoint.enabled:
        return SafeString("")
    since = endpoint.disabled_at or endpoint.created_at
    if endpoint.disabled_reason:
        return format_html(
            "Switched off on {} because {}. Repair it, then switch it on again. {}",
            time_tag(since),
            endpoint.disabled_reason,
            missed(since),
        )
    return format_html("Switched off on {}. {}", time_tag(since), missed(since))


def missed(since: datetime) -> SafeString:
    """Where to read the events that were not sent to an endpoint that was switched off."""
    return format_html(
        "Events since {} were not sent to it: read them with <code>GET /api/v1/events</code>, "
        "which has those of the last {} days.",
        time_tag(since),
        KEEP_DAYS,
    )


def warnings(state: str, endpoints: list[Endpoint]) -> list[SafeString]:
    """The same with links, for the start page: one for each, or one for all if there are many.

    Args:
        state: of all of them, "off" or "failing", as the list's filter has it.
        endpoints: the one that is in this state for the longest time first.
    """
    if len(endpoints) > MOST_WARNINGS:
        text = MANY[state].format(len(endpoints))
        link = format_html('<a href="{}?state={}">{}</a>', reverse(LIST), state, text)
        first = endpoints[0].disabled_at if state == "off" else endpoints[0].failing_since
        since = format_html("the first since {}", time_tag(first)) if first else ""
        return [format_html("{} {}: {}.", state_pill(endpoints[0]), link, since)]
    return [
        format_html(
            '{} Webhook <a href="{}">{}</a>: {}',
            state_pill(each),
            reverse(ENDPOINT, args=[each.pk]),
            each.name,
            explanation(each),
        )
        for each in endpoints
    ]


def sent_once(endpoint: Endpoint) -> str:
    """What deliveries to it wait for, after "sent"; "" if they do not wait."""
    if not endpoint.enabled:
        return "once the webhook is switched on"
    return "once the workspace may use the API" if waiting(endpoint.workspace) else ""


def waiting(workspace: Workspace) -> SafeString:
    """Why deliveries of the workspace wait at present; "" if they do not."""
    try:
        check_api_access(workspace)
    except WorkspaceSuspended:
        text = f"{workspace} is suspended: deliveries wait until it is reinstated."
    except PlanRequired:
        text = (
            f"{workspace}'s plan does not include the API: deliveries wait until the workspace "
            "moves to Pro or Business."
        )
    else:
        return SafeString("")
    return format_html('{} <a href="{}">Its page</a>', text, workspace_url(workspace))
