"""Sentences about a webhook's state, and about what its deliveries wait for."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.console.formatting import Bad, isolated, pill, time_tag
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
    return pill("bad", "Failing") if endpoint.failing_since else pill("ok", "On")


def explanation(endpoint: Endpoint) -> SafeString:
    """Why it receives nothing, or fails, and what to do about it; "" if all is well."""
    if endpoint.deleted_at:
        return format_html("It was deleted on {}.", time_tag(endpoint.deleted_at))
    if not endpoint.enabled:
        reason = endpoint.disabled_reason
        repair = " because {}. Repair it, then switch it on again"
        text = format_html(
            "Switched off on {}{}. Events since then were not sent to it: read them with "
            "<code>GET /api/v1/events</code>, which has those of the last {} days.",
            time_tag(endpoint.disabled_at or endpoint.created_at),
            format_html(repair, isolated(reason)) if reason else "",
            KEEP_DAYS,
        )
        return Bad(text) if reason else text
    if endpoint.failing_since:
        text = format_html(
            "Every attempt has failed since {}. If deliveries are tried for {} days without "
            "success, it is switched off.",
            time_tag(endpoint.failing_since),
            FAILING_DAYS,
        )
        return Bad(text)
    return SafeString("")


def waiting(workspace: Workspace) -> SafeString:
    """Why deliveries of the workspace wait at present; "" if they do not."""
    wait = "deliveries wait until"
    text = access_warning(workspace, until=wait, once=wait)
    link = format_html('<a href="{}">Its page</a>', workspace.get_absolute_url())
    return Bad(format_html("{} {}", text, link)) if text else SafeString("")
