"""Sentences about a webhook's state, and about what its deliveries wait for."""

from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.models import NEWEST_FIRST
from config.console.formatting import Bad, clock_tag, isolated, pill, time_tag
from config.console.links import ENDPOINT, page_link
from events.models import KEEP_DAYS
from events.webhooks.models import PENDING, Delivery, DeliveryState, Endpoint
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


def short_time(moment: datetime) -> SafeString:
    is_today = timezone.localdate(moment) == timezone.localdate()
    return clock_tag(moment) if is_today else time_tag(moment)


def failing_line(endpoint: Endpoint, *, delivers: bool) -> SafeString:
    """Of an endpoint that fails: since when, why, how many deliveries wait, and until when.

    Args:
        delivers: whether a process delivers webhooks at present.
    """
    waits: QuerySet[Delivery] = endpoint.deliveries.filter(PENDING)
    given_up = endpoint.deliveries.filter(state=DeliveryState.FAILED)
    tried = (
        waits.filter(attempts__gt=0).order_by("-next_attempt_at", "-id").first()
        or given_up.order_by(*NEWEST_FIRST).first()
    )
    last = tried and tried.attempt_set.order_by("-number").first()
    text = format_html(
        "<b>Webhook {} fails</b> since {}{}",
        page_link(ENDPOINT, endpoint.name, endpoint.pk),
        short_time(endpoint.failing_since or endpoint.created_at),
        f": {last.outcome.rstrip('.')}." if last else ".",
    )
    count, first = waits.count(), waits.order_by("next_attempt_at", "id").first()
    if first is None or first.next_attempt_at is None:
        return Bad(text)
    many = "1 delivery waits" if count == 1 else f"{count:,} deliveries wait"
    if waiting(endpoint.workspace):  # another line says for what
        return Bad(format_html("{} {}.", text, many))
    if not delivers:
        return Bad(format_html("{} {} for us: the service sends nothing at present.", text, many))
    is_due = first.next_attempt_at <= timezone.now()
    when = "due now" if is_due else format_html("at {}", short_time(first.next_attempt_at))
    return Bad(format_html("{} {}; the next try is {}.", text, many, when))


def waiting(workspace: Workspace) -> SafeString:
    """Why deliveries of the workspace wait at present; "" if they do not."""
    wait = "deliveries wait until"
    text = access_warning(workspace, until=wait, once=wait)
    link = format_html('<a href="{}">Its page</a>', workspace.get_absolute_url())
    return Bad(format_html("{} {}", text, link)) if text else SafeString("")
