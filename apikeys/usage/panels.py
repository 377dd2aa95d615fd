"""What the start page shows of the usage of keys, by what the user is."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.managers import UNUSED_DAYS
from apikeys.models import ApiKey
from apikeys.usage import latest, report
from apikeys.usage.report import WorkspaceUsage
from workspaces.directory import administered_names, labels
from workspaces.permissions import is_operator, sees_every_workspace

WORKSPACES_SHOWN = 10  # of an admin of many
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
        top = {by: report.top_workspaces(by) for by in ("requests", "limited")}
        panels.append(_panel("operator", **top))
    if own := labels(administered_names(user)):
        shown = dict(list(own.items())[:WORKSPACES_SHOWN])
        panels.append(_panel("admin", rows=_with_unused_keys(shown), unused_days=UNUSED_DAYS))
    return panels


def _panel(name: str, **context: object) -> SafeString:
    return render_to_string(f"admin/usage/panels/{name}.html", context)


def _with_unused_keys(names: dict[UUID, str]) -> list[tuple[WorkspaceUsage, int]]:
    """Today's usage of each workspace, and how many of its keys nobody has used for long."""
    keys = ApiKey.objects.unused().filter(workspace_id__in=list(names)).order_by()
    unused = dict(keys.values_list("workspace_id").annotate(Count("pk")))
    return [(each, unused.get(each.workspace_id, 0)) for each in report.of_workspaces(names)]
