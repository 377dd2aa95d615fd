"""What the start page shows of the usage of keys, by what the user is."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.charts import month
from apikeys.managers import UNUSED_DAYS
from apikeys.models import ApiKey
from apikeys.usage import latest, report
from apikeys.usage.report import total
from workspaces.permissions import is_operator, sees_every_workspace

WORKSPACES_SHOWN = 5  # of an admin of many
LATEST = 5  # refused requests


def for_user(user: User) -> list[SafeString]:
    """The panels, in their order."""
    panels = []
    if sees_every_workspace(user):
        panels.append(
            _panel(
                "support",
                newest=latest.of_known_keys(LATEST),
                known=latest.of_refused_keys(LATEST),
                limited=report.limited_keys(LATEST),
            )
        )
    if is_operator(user):
        panels.append(_panel("operator", requests=report.top_workspaces()))
    return panels


def of_workspaces(names: dict[UUID, str]) -> list[SafeString]:
    """A chart for each of these workspaces, whose admin the user is.

    Args:
        names: id → what to call it.
    """
    shown = dict(list(names.items())[:WORKSPACES_SHOWN])
    daily = report.daily(shown, of="workspace_id")
    keys = ApiKey.objects.unused().filter(workspace_id__in=list(shown)).order_by()
    unused = dict(keys.values_list("workspace_id").annotate(Count("pk")))
    rows = [
        (id, name, total(daily[id]), month(daily[id]), unused.get(id, 0))
        for id, name in shown.items()
    ]
    return [_panel("admin", rows=rows, unused_days=UNUSED_DAYS)] if rows else []


def of_all() -> SafeString:
    """A chart of all requests, for operators."""
    days = report.daily_of_all()
    return _panel("all", chart=month(days), usage=total(days))


def _panel(name: str, **context: object) -> SafeString:
    return render_to_string(f"admin/usage/panels/{name}.html", context)
