"""What pages say of a key's end, and of a workspace whose keys are refused."""

from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.models import ApiKey
from config.console.formatting import exact, time_tag
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


def expiry_warning(key: ApiKey, expires_at: datetime) -> SafeString:
    """What to do before the key expires. A successor that has ended too replaces nothing."""
    if key.replaced_by and not key.replaced_by.state.has_ended:
        return format_html(
            "The key {} was rolled. Replaced by {}: change programs over by {}.",
            link(key),
            replaced_by(key),
            exact(expires_at),
        )
    return format_html(
        "The key {} expires on {}. Roll it, so that programs that use it can change over.",
        link(key),
        exact(expires_at),
    )


def refusal_warning(workspace: Workspace, *, for_support: bool = False) -> SafeString:
    """Why keys of the workspace are refused at present, and what to do about it; "" if not.

    Args:
        for_support: where it says who did it, instead of what to do.
    """
    text, url = access_warning(workspace), workspace.get_absolute_url()
    if not text:
        return SafeString("")
    if for_support:
        return format_html('{} <a href="{}">Who changed that, and when</a>', text, url)
    if not workspace.suspended:
        return format_html('{} <a href="{}">Change the plan</a>', text, settings.UPGRADE_URL)
    why = format_html('{} <a href="{}">See why</a>, then', text, url)
    if email := settings.SUPPORT_EMAIL:
        return format_html('{} write to <a href="mailto:{}">{}</a>.', why, email, email)
    return format_html("{} ask the operator of this service to reinstate it.", why)
