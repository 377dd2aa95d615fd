"""What the start page shows of the usage of keys, by what the user is."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.managers import UNUSED_DAYS
from apikeys.models import ApiKey
from apikeys.usage import latest, report
from apikeys.usage.report import Usage
from workspaces.directory import administered_names, labels
from workspaces.permissions import is_operator, sees_every_workspace

WORKSPACES_SHOWN = 10  # of an admin of many
LATEST = 5  # refused requests


def for_user(user: User) -> list[SafeString]:
    """The panels, in their order."""
    panels = []
    if sees_every_workspace(user):
        panels.append(_support())
    if is_operator(user):
        panels.append(_operator())
    if rows := _workspaces(user):
        panels.append(_panel("admin", rows=rows, unused_days=UNUSED_DAYS))
    return panels


def _panel(name: str, **context: object) -> SafeString:
    return render_to_string(f"admin/usage/panels/{name}.html", context)


def _support() -> SafeString:
    return _panel(
        "support",
        newest=latest.of_known_keys(LATEST),
        known=latest.of_refused_keys(LATEST),
        limited=report.limited_keys(LATEST),
    )


def _operator() -> SafeString:
    return _panel(
        "operator",
        requests=report.top_workspaces(by="requests"),
        limited=report.top_workspaces(by="limited"),
    )


@dataclass(frozen=True)
class WorkspaceRow:
    """A workspace of the user, today."""

    id: UUID
    name: str
    usage: Usage
    unused: int  # keys


def _workspaces(user: User) -> list[WorkspaceRow]:
    names = labels(administered_names(user))
    ids = list(names)[:WORKSPACES_SHOWN]
    if not ids:
        return []
    keys = ApiKey.objects.unused().filter(workspace_id__in=ids).order_by()
    unused = dict(keys.values_list("workspace_id").annotate(Count("pk")))
    usage = report.workspace_today(ids)
    return [WorkspaceRow(id, names[id], usage[id], unused.get(id, 0)) for id in ids]
