"""Sentences about a webhook's state, and about what its deliveries wait for."""

from datetime import datetime

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.console.formatting import Bad, isolated, pill, time_tag
from events.models import KEEP_DAYS
from events.webhooks.models import Endpoint
from events.webhooks.policy import FAILING_DAYS
from workspaces.api_access import access_warning
from workspaces.models import Workspace

LIST = "admin:webhooks_endpoint_changelist"
ENDPOINT = "admin:webhooks_endpoint_change"
MOST_WARNINGS = 3  # more webhooks in the same state have one warning
MANY = {"off": "{} webhooks are switched off", "failing": "{} webhooks are failing"}


def state_pill(endpoint: Endpoint) -> SafeString:
    if endpoint.deleted_at:
        return pill("quiet", "Deleted")
    if not endpoint.enabled:
        return pill("bad" if endpoint.disabled_reason else "quiet", "Switched off")
    return pill("warn", "Failing") if endpoint.failing_since else pill("ok", "On")


def explanation(endpoint: Endpoint) -> SafeString:
    """Why it receives nothing, or fails, and what to do about it; "" if all is well."""
    if endpoint.deleted_at:
        return format_html("The webhook was deleted on {}.", time_tag(endpoint.deleted_at))
    if endpoint.enabled and endpoint.failing_since:
        return format_html(
            "Every attempt has failed since {}. If deliveries are tried for {} days without "
            "success, it is switched off.",
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
            isolated(endpoint.disabled_reason),
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
    """Explanations with links for the start page: one for each endpoint, or one for many.

    Args:
        state: "off" or "failing", as in the list's filter.
        endpoints: those in this state, the longest first.
    """
    if len(endpoints) > MOST_WARNINGS:
        text = MANY[state].format(len(endpoints))
        link = format_html('<a href="{}?state={}">{}</a>', reverse(LIST), state, text)
        first = endpoints[0].disabled_at if state == "off" else endpoints[0].failing_since
        since = format_html("the first since {}", time_tag(first)) if first else ""
        found = [format_html("{} {}: {}.", state_pill(endpoints[0]), link, since)]
    else:
        found = [
            format_html(
                '{} Webhook <a href="{}">{}</a>: {}',
                state_pill(each),
                reverse(ENDPOINT, args=[each.pk]),
                isolated(each.name),
                explanation(each),
            )
            for each in endpoints
        ]
    return [Bad(each) if state == "off" else each for each in found]


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


def sent_again(endpoint: Endpoint) -> str:
    """What happens to deliveries that a user sends again, after "is" or "are"."""
    when = sent_once(endpoint)
    return f"sent again {when}" if when else "being sent again"
