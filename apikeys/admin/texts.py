"""What pages say of a key's end, and of a workspace whose keys are refused."""

from collections.abc import Iterable

from django.conf import settings
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage
from apikeys.usage.report import Group
from audit.admin.links import refused_requests_url
from config.console.formatting import Bad, ago_with_exact, time_tag
from config.console.object_page import Refused
from workspaces.api_access import access_warning
from workspaces.models import Workspace
from workspaces.plans import WITH_API

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


def ended_warning(group: Group) -> Bad:
    """A program still uses a key that has ended."""
    last = group.last
    text = (
        'The key “<a href="{}">{}</a>” ({}…) has ended and is still used: {} refused in the last '
        '24 hours, the last one {} from {}. <a href="{}">See why</a>, and give that program '
        "another key."
    )
    return Bad(
        format_html(
            text,
            reverse("admin:apikeys_apikey_change", args=[last.key_id]),
            last.key_name,
            last.key_prefix,
            f"{group.count:,} request{pluralize(group.count)}",
            ago_with_exact(last.created_at),
            last.address or "an unknown address",
            refused_requests_url(key_id__exact=last.key_id, status__exact=401),
        )
    )


def limit_warning(usage: KeyUsage, key: ApiKey) -> SafeString:
    """A key was over the limit today."""
    return format_html(
        'The key {} was over the limit: {} refused today. <a href="{}">See when</a>, and let '
        "that program wait as Retry-After says.",
        link(key),
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


def require_plan(workspaces: Iterable[Workspace]) -> None:
    """Raises `Refused` if no plan of these workspaces has keys."""
    given = list(workspaces)
    if not any(each.plan in WITH_API for each in given):
        text = (
            "Nothing was created: keys are available on the plans Pro and Business, and {} is on "
            'another one. <a href="{}">Change the plan</a>'
        )
        raise Refused(format_html(text, given[0], settings.UPGRADE_URL))
