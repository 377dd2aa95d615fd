"""What workspaces are called, for pages; the audit log finds it by a setting
(`settings.AUDIT_WORKSPACE_DIRECTORY`).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import QueryDict

from workspaces.models import Workspace, label
from workspaces.permissions import administered_by, sees_every_workspace

PAGE = 20  # workspaces offered at a time
LAST_PAGE = 50  # a user who has scrolled this far should type more


def administered_names(user: User) -> dict[UUID, str]:
    """The workspaces whose admin the user is, sorted by name: id → name."""
    workspaces = administered_by(user).order_by("name", "id")
    return dict(workspaces.values_list("id", "name"))


def labels(names: Mapping[UUID, str]) -> dict[UUID, str]:
    """What to call the workspaces in a list of all of them: id → name.

    A name that repeats among them has the first characters of its id. Where others may exist that
    are not in the list, use `Workspace.label`.
    """
    count = Counter(names.values())
    return {id: label(id, name) if count[name] > 1 else name for id, name in names.items()}


def label_for(user: User, workspace: Workspace) -> str:
    """What to call a workspace on pages of this user, who may see it."""
    if sees_every_workspace(user):
        return workspace.label
    return labels(administered_names(user)).get(workspace.id, workspace.name)


def autocomplete(query: QueryDict) -> dict[str, Any]:
    """The workspaces whose name contains `term`, sorted by name, in the form that select2 reads.

    Names may repeat; the first characters of the id tell two apart. With 100,000 workspaces this
    scan takes about 30 ms, which is not worth an index that each change of a name would pay for.
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
