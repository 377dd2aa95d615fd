"""Pictures of what keys do, and what the start page shows of it, by what the user is."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.models import ApiKey
from apikeys.states import UNUSED_DAYS
from apikeys.usage import report
from apikeys.usage.report import Day, total
from audit.scope import sees_every_workspace
from config.console.charts import Bar, bar_chart
from workspaces.permissions import is_operator

WORKSPACES_SHOWN = 5  # of an admin of many
LATEST = 5  # refused requests


def for_user(user: User) -> list[SafeString]:
    """The panels of all requests, of refused ones and of busy workspaces, in their order."""
    panels = []
    if sees_every_workspace(user):
        known, alike = {"key_id__isnull": False}, ("key_id", "status", "reason")
        panels.append(
            _panel(
                "support",
                newest=report.refused(alike, LATEST, **known),
                known=report.refused(alike, LATEST, **known, status=401),
            )
        )
    if is_operator(user):
        panels.append(_panel("operator", workspaces=report.top_workspaces()))
        days = report.daily_of_all()
        panels.insert(0, _panel("all", chart=month(days), usage=total(days)))
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


def _panel(name: str, **context: object) -> SafeString:
    return render_to_string(f"admin/usage/panels/{name}.html", context)


def summary(days: Sequence[Day]) -> str:
    """The numbers of a sparkline: "1,204 requests, 3 errors, 6 over the limit"."""
    usage = total(days)
    requests, errors, limited = usage.requests, usage.errors, usage.limited
    if not requests:
        return "no requests"
    parts = [f"{requests:,} request{'' if requests == 1 else 's'}"]
    if errors:
        parts.append(f"{errors:,} error{'' if errors == 1 else 's'}")
    if limited:
        parts.append(f"{limited:,} over the limit")
    return ", ".join(parts)


def sparkline(days: Sequence[Day]) -> SafeString:
    """A small chart of the days, or nothing if there were no requests."""
    return _chart(days, label=f"{len(days)} days: {summary(days)}", small=True)


def month(days: Sequence[Day]) -> SafeString:
    """A bar for each day, stacked by what the responses were, and the downloads as a line.

    Nothing if there were no requests.
    """
    return _chart(days, label=f"Requests on each of the last {len(days)} days (UTC)")


def _chart(days: Sequence[Day], *, label: str, small: bool = False) -> SafeString:
    bars = [
        Bar(
            str(day.date),
            {"ok": day.ok, "errors": day.errors, "limited": day.limited},
            line={} if small else {"downloads": day.downloads},
        )
        for day in days
    ]
    used = any(bar.total for bar in bars)
    return bar_chart(bars, label=label, small=small) if used else SafeString("")
