"""Sentences about a webhook's state, and about what its deliveries wait for."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.console.formatting import Bad, isolated, pill, time_tag
from config.console.links import ENDPOINT, page_link
from events.models import KEEP_DAYS
from events.webhooks.models import Endpoint
from events.webhooks.policy import FAILING_DAYS
from workspaces.api_access import access_warning
from workspaces.models import Workspace


def state_pill(endpoint: Endpoint) -> SafeString:
    if endpoint.deleted_at:
        return pill("quiet", "Deleted")
    if not endpoint.enabled:
        return pill("bad" if endpoint.disabled_reason else "quiet", "Switched off")
    return pill("warn", "Failing") if endpoint.failing_since else pill("ok", "On")


def explanation(endpoint: Endpoint) -> SafeString:
    """Why it receives nothing, or fails, and what to do about it; "" if all is well."""
    if endpoint.deleted_at:
        return format_html("It was deleted on {}.", time_tag(endpoint.deleted_at))
    if not endpoint.enabled:
        since, reason = endpoint.disabled_at or endpoint.created_at, endpoint.disabled_reason
        repair = " because {}. Repair it, then switch it on again"
        return format_html(
            "Switched off on {}{}. Events since then were not sent to it: read them with "
            "<code>GET /api/v1/events</code>, which has those of the last {} days.",
            time_tag(since),
            format_html(repair, isolated(reason)) if reason else "",
            KEEP_DAYS,
        )
    if endpoint.failing_since:
        return format_html(
            "Every attempt has failed since {}. If deliveries are tried for {} days without "
            "success, it is switched off.",
            time_tag(endpoint.failing_since),
            FAILING_DAYS,
        )
    return SafeString("")


def warning(endpoint: Endpoint) -> SafeString:
    """Its explanation, for the start page."""
    link = page_link(ENDPOINT, endpoint.name, endpoint.pk)
    text = format_html("{} Webhook {}: {}", state_pill(endpoint), link, explanation(endpoint))
    return Bad(text)


def sent_once(endpoint: Endpoint) -> str:
    """What deliveries to it wait for, after "sent"; "" if they do not wait."""
    if not endpoint.enabled:
        return "once the webhook is switched on"
    return "once the workspace may use the API" if waiting(endpoint.workspace) else ""


def waiting(workspace: Workspace) -> SafeString:
    """Why deliveries of the workspace wait at present; "" if they do not."""
    wait = "deliveries wait until"
    text = access_warning(workspace, until=wait, once=wait)
    if not text:
        return SafeString("")
    return format_html('{} <a href="{}">Its page</a>', text, workspace.get_absolute_url())
