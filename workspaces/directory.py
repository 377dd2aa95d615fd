"""Workspaces by a part of their name, a page at a time: what a select asks for while one types."""

from typing import Any

from django.http import QueryDict

from workspaces.models import Workspace

PAGE = 20  # workspaces offered at a time
LAST_PAGE = 50  # whoever has scrolled this far should type more


def offered(query: QueryDict) -> dict[str, Any]:
    """Those whose name holds the typed `term`, by name, in the form that select2 reads.

    Names may repeat; the beginning of the id tells two apart. Among 100,000 workspaces this is a
    scan of some 30 ms: too little for an index that every change of a name would pay for.
    """
    term = query.get("term", "").replace("\0", "")
    text = query.get("page", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 1
    start = (min(max(number, 1), LAST_PAGE) - 1) * PAGE
    found = Workspace.objects.filter(name__icontains=term).order_by("name", "id")
    rows = list(found.values_list("id", "name")[start : start + PAGE + 1])
    return {
        "results": [{"id": str(id), "text": f"{name} · {str(id)[:8]}"} for id, name in rows[:PAGE]],
        "pagination": {"more": len(rows) > PAGE and number < LAST_PAGE},
    }
