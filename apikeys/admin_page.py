"""The page of one key in the admin: all that is known of it."""

from collections.abc import Iterator
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString

from apikeys import charts
from apikeys.admin_access import last_use, refusal_reason, refusal_warning, replaced_by
from apikeys.life import DeletedKey, life_of
from apikeys.models import ApiKey
from apikeys.states import State
from apikeys.usage import latest, report
from audit.admin.links import filtered_log_url
from audit.models import Action
from config.admin.formatting import time_tag
from workspaces.models import Workspace

REFUSED = "admin:usage_refusedrequest_changelist"
REFUSED_SHOWN = 5
ENDING = (Action.KEY_REVOKED, Action.KEY_DELETED)

Event = tuple[str, SafeString, str]  # the class of its line, the time, the text


def context(key: ApiKey | DeletedKey, workspace_label: str, *, for_support: bool) -> dict[str, Any]:
    """What the page shows, for a key that exists and for a deleted one.

    Args:
        for_support: whether refused requests are shown with what only support staff may know.
    """
    days = report.daily([key.id])[key.id]
    workspace = Workspace.objects.filter(pk=key.workspace_id).first()
    refusal = refusal_reason if for_support else refusal_warning
    refused_url = f"{reverse(REFUSED)}?key_id__exact={key.id}"
    return {
        "key": key,
        "last_used": last_use(key) if isinstance(key, ApiKey) else None,
        "expires": expiry(key) if isinstance(key, ApiKey) else None,
        "replaced_by": replaced_by(key) if isinstance(key, ApiKey) else None,
        "figures": figures(days),
        "chart": charts.month(days),
        "refused": [
            {
                "row": each.row,
                "time": time_tag(each.row.created_at),
                "reason": each.reason,
                "more": f"{each.more:,}" if each.more else "",
            }
            for each in latest.of_key(key.id, REFUSED_SHOWN, for_support=for_support)
        ],
        "refused_url": refused_url,
        "limited_url": f"{refused_url}&status__exact=429",
        "addresses": [
            {
                "row": row,
                "first": time_tag(row.first_seen),
                "last": time_tag(row.last_seen),
                "requests": f"{row.requests:,}",
            }
            for row in report.addresses(key.id)
        ],
        "workspace": workspace,
        "workspace_label": workspace_label,
        "refusal": refusal(workspace) if workspace else "",
        "events": list(events(key)),
        "log_url": filtered_log_url(key_id__exact=key.id),
    }


def expiry(key: ApiKey) -> SafeString | None:
    """When the key expires; None if never."""
    return time_tag(key.expires_at) if key.expires_at else None


def figures(days: list[report.Day]) -> list[tuple[str, str]]:
    """The numbers above the chart."""
    names = {
        "requests": "requests",
        "downloads": "downloads",
        "errors": "errors",
        "limited": "over the limit (429)",
    }
    usage = report.total(days)
    return [(text, f"{getattr(usage, name):,}") for name, text in names.items()]


def events(key: ApiKey | DeletedKey) -> Iterator[Event]:
    """The key's life: what the audit log has, and its expiry."""
    for entry in life_of(key.workspace_id, key.id):
        action = entry.action_label.removeprefix("API key ").capitalize()
        detail = f" ({entry.detail})" if entry.detail else ""
        kind = "ended" if entry.action in ENDING else "done"
        yield kind, time_tag(entry.created_at), f"{action} by {entry.person}{detail}"
    if isinstance(key, ApiKey) and key.expires_at and key.state is not State.REVOKED:
        expired = key.state is State.EXPIRED
        yield (
            "ended" if expired else "",
            time_tag(key.expires_at),
            "Expired" if expired else "Expires",
        )
