"""What the start page shows of the usage of keys, by what the user is."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.models import UNUSED_DAYS
from apikeys.usage import report
from apikeys.usage.models import RefusedRequest
from apikeys.usage.report import Usage
from workspaces.models import Workspace
from workspaces.permissions import administered_by, is_operator, sees_every_workspace

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
    newest = RefusedRequest.objects.order_by("-created_at", "-id")
    return _panel(
        "support",
        newest=newest[:LATEST],
        known=report.refused_known_keys(LATEST),
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

    workspace: Workspace
    usage: Usage
    unused: int  # keys


def _workspaces(user: User) -> list[WorkspaceRow]:
    workspaces = list(administered_by(user).order_by("name", "id")[:WORKSPACES_SHOWN])
    ids = [workspace.pk for workspace in workspaces]
    if not ids:
        return []
    keys = report.unused_keys(ids).order_by().values_list("workspace_id")
    unused = dict(keys.annotate(Count("pk")))
    usage = report.workspace_today(ids)
    return [
        WorkspaceRow(workspace, usage[workspace.pk], unused.get(workspace.pk, 0))
        for workspace in workspaces
    ]
