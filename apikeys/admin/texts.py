"""What pages say of a key's end, and of a workspace whose keys are refused."""

from django.conf import settings
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage, RefusedRequest
from audit.admin.links import refused_requests_url
from config.console.formatting import Bad, ago_with_exact, time_tag
from workspaces.api_access import access_warning
from workspaces.models import Workspace

LIST = "admin:apikeys_apikey_changelist"


def link(key: ApiKey) -> SafeString:
    """The key's name in quotation marks, as a link to its page."""
    url = reverse("admin:apikeys_apikey_change", args=[key.pk])
    return format_html('“<a href="{}">{}</a>”', url, key.name)


def end_of(key: ApiKey) -> SafeString:
    """When the key ended or will end, and who ended it; "" if it does not."""
    if key.revoked_at:
        by = f" by {key.revoked_by}" if key.revoked_by else ""
        return format_html("revoked {}{}", time_tag(key.revoked_at), by)
    if not key.expires_at:
        return SafeString("")
    verb = "expired" if key.state.has_ended else "expires"
    return format_html("{} {}", verb, time_tag(key.expires_at))


def replaced_by(key: ApiKey) -> SafeString:
    """The key that it was rolled to, with a link; "" without one that exists."""
    new = key.replaced_by
    return format_html("{} (<code>{}…</code>)", link(new), new.prefix) if new else SafeString("")


def expiry_warning(key: ApiKey) -> SafeString:
    """What to do before the key expires. A successor that has ended too replaces nothing."""
    expires = time_tag(key.expires_at) if key.expires_at else ""
    if key.replaced_by and not key.replaced_by.state.has_ended:
        return format_html(
            "The key {} was rolled. Replaced by {}: change programs over by {}.",
            link(key),
            replaced_by(key),
            expires,
        )
    return format_html(
        "The key {} expires on {}. Roll it, so that programs that use it can change over.",
        link(key),
        expires,
    )


def ended_warning(last: RefusedRequest) -> Bad:
    """A program still uses a key that has ended; `last` is its newest request, with the number."""
    return Bad(
        format_html(
            'The key “<a href="{}">{}</a>” has ended and is still used: {} refused, the last {} '
            'from {}. <a href="{}">See from where</a>, and give that program another key.',
            reverse("admin:apikeys_apikey_change", args=[last.key_id]),
            last.key_name,
            f"{last.more + 1:,} request{pluralize(last.more + 1)} of the last 24 hours",
            ago_with_exact(last.created_at),
            last.address or "an unknown address",
            refused_requests_url(key_id__exact=last.key_id, status__exact=401),
        )
    )


def limit_warning(found: tuple[KeyUsage, ApiKey | None]) -> SafeString:
    """A key was over the limit today; it may be deleted since."""
    usage, key = found
    return format_html(
        'The key {} was over the limit: {} refused today. <a href="{}">See when</a>, and let '
        "that program wait as Retry-After says.",
        link(key) if key else "that was deleted",
        f"{usage.limited:,} request{pluralize(usage.limited)}",
        refused_requests_url(key_id__exact=usage.key_id, status__exact=429),
    )


def refusal_warning(workspace: Workspace) -> SafeString:
    """Why keys of the workspace are refused at present, and what to do about it; "" if not."""
    text, url = access_warning(workspace), workspace.get_absolute_url()
    if not text:
        return SafeString("")
    if not workspace.suspended:
        return format_html('{} <a href="{}">Change the plan</a>', text, settings.UPGRADE_URL)
    why = format_html('{} <a href="{}">See why</a>, then', text, url)
    if email := settings.SUPPORT_EMAIL:
        return format_html('{} write to <a href="mailto:{}">{}</a>.', why, email, email)
    return format_html("{} ask the operator of this service to reinstate it.", why)
