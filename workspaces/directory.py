"""What workspaces are called, for pages; the audit log finds it by a setting
(`settings.AUDIT_WORKSPACE_DIRECTORY`).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest, QueryDict

from config.admin.base import request_user
from workspaces.models import Workspace, label
from workspaces.permissions import administered_by, sees_every_workspace

PAGE = 20  # workspaces offered at a time
LAST_PAGE = 50  # a user who has scrolled this far should type more
MOST = 10  # workspaces that a name may stand for
_SEPARATOR = " · "


def administered_names(user: User) -> dict[UUID, str]:
    """The workspaces whose admin the user is, sorted by name: id → name."""
    workspaces = administered_by(user).order_by("name", "id")
    return dict(workspaces.values_list("id", "name"))


def own_workspaces(request: HttpRequest) -> dict[UUID, str]:
    """The workspaces whose admin the user is, sorted by name: id → what to call it.

    They are read once for each request.
    """
    own: dict[UUID, str] | None = getattr(request, "own_workspaces", None)
    if own is None:
        own = labels(administered_names(request_user(request)))
        request.own_workspaces = own  # type: ignore[attr-defined]
    return own


def labels(names: Mapping[UUID, str]) -> dict[UUID, str]:
    """What to call the workspaces in a list of all of them: id → name.

    A name that repeats among them has the first characters of its id. Where others may exist that
    are not in the list, use `Workspace.label`.
    """
    count = Counter(names.values())
    return {id: label(id, name) if count[name] > 1 else name for id, name in names.items()}


def label_for(request: HttpRequest, workspace: Workspace) -> str:
    """What to call a workspace on pages of the request's user, who may see it."""
    if sees_every_workspace(request_user(request)):
        return workspace.label
    return own_workspaces(request).get(workspace.id, workspace.name)


def autocomplete(query: QueryDict) -> dict[str, Any]:
    """The workspaces whose name contains `term`, sorted by name.

    With 100,000 workspaces this scan takes about 30 ms, which is not worth an index that each
    change of a name would pay for.
    """
    term = query.get("term", "").replace("\0", "")
    text = query.get("page", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 1
    start = (min(max(number, 1), LAST_PAGE) - 1) * PAGE
    found = Workspace.objects.filter(name__icontains=term).order_by("name", "id")
    rows = list(found.values_list("id", "name")[start : start + PAGE + 1])
    return {
        "results": [{"id": str(id), "text": label(id, name)} for id, name in rows[:PAGE]],
        "pagination": {"more": len(rows) > PAGE and number < LAST_PAGE},
    }


def named(text: str) -> list[tuple[UUID, str]]:
    """The first few workspaces that a text may mean: by its label or its name, or a part of it."""
    name, separator, digits = text.rpartition(_SEPARATOR)
    if separator:
        same = Workspace.objects.filter(name__iexact=name)
        return _first(same.annotate(text=Cast("id", TextField())).filter(text__startswith=digits))
    return _first(Workspace.objects.filter(name__iexact=text)) or _first(
        Workspace.objects.filter(name__icontains=text)
    )


def _first(workspaces: "QuerySet[Workspace]") -> list[tuple[UUID, str]]:
    return list(workspaces.order_by("name", "id").values_list("id", "name")[:MOST])
