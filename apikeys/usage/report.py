"""What pages show of the usage of keys. Each query reads a range of one index.

What a process has counted in the last few seconds is not in it yet (`apikeys.usage.flusher`).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Sum
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from apikeys.keys import today
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.api.errors import InvalidKey
from config.console.charts import Bar, bar_chart

DAYS = 30
WARNINGS = 5  # of each kind
ROWS_READ = 200  # of the newest refused requests, whatever is shown of them


@dataclass(frozen=True)
class Usage:
    """Requests by what the response was: 2xx and 3xx, 4xx and 5xx, 429; and downloads of those."""

    ok: int = 0
    errors: int = 0
    limited: int = 0
    downloads: int = 0

    @property
    def requests(self) -> int:
        return self.ok + self.errors + self.limited

    def __str__(self) -> str:
        """ "1,204 requests, 3 errors, 6 over the limit"."""
        parts = [f"{self.requests:,} request{'' if self.requests == 1 else 's'}"]
        parts += [f"{self.errors:,} error{'' if self.errors == 1 else 's'}"] if self.errors else []
        parts += [f"{self.limited:,} over the limit"] if self.limited else []
        return ", ".join(parts)


Days = dict[date, Usage]  # the oldest first, also those without requests
_SUMS = [Sum(each.name) for each in fields(Usage)]


def daily(of: str, ids: Iterable[UUID]) -> dict[UUID, Days]:
    """The last 30 days, today included, of each of these; also of deleted ones.

    Args:
        of: "key_id" or "workspace_id".
    """
    wanted, days = list(ids), _last_days()
    rows = KeyUsage.objects.filter(**{f"{of}__in": wanted}, day__in=days).values(of, "day")
    found = {(id, day): Usage(*sums) for id, day, *sums in rows.values_list(of, "day", *_SUMS)}
    return {id: {day: found.get((id, day), Usage()) for day in days} for id in wanted}


def daily_of_all() -> Days:
    """The same of all keys together. All rows of these days are read: one for each key in use."""
    days = _last_days()
    rows = KeyUsage.objects.filter(day__gte=days[0]).values("day").values_list("day", *_SUMS)
    found = {day: Usage(*sums) for day, *sums in rows}
    return {day: found.get(day, Usage()) for day in days}


def _last_days() -> list[date]:
    return [today() - timedelta(days=back) for back in reversed(range(DAYS))]


def total(days: Days) -> Usage:
    """The sums of these days."""
    return Usage(*(sum(getattr(day, f.name) for day in days.values()) for f in fields(Usage)))


def chart(days: Days, *, small: bool = False) -> SafeString:
    """A bar for each day, stacked by what the responses were; nothing if there were no requests.

    Args:
        small: a sparkline; otherwise the downloads are a line in it.
    """
    usage = total(days)
    bars = [
        Bar(
            str(day),
            {"ok": each.ok, "errors": each.errors, "limited": each.limited},
            line={} if small else {"downloads": each.downloads},
        )
        for day, each in days.items()
    ]
    label = f"{DAYS} days: {usage}" if small else f"Requests on each of the last {DAYS} days (UTC)"
    return bar_chart(bars, label=label, small=small) if usage.requests else SafeString("")


def panel(name: str, days: Days, workspace_id: UUID | None = None) -> SafeString:
    """The chart and its sums, for the start page."""
    context = {"name": name, "usage": total(days), "chart": chart(days), "id": workspace_id}
    return render_to_string("admin/usage/panels/usage.html", context)


def limited_keys(workspaces: Collection[UUID]) -> list[KeyUsage]:
    """The usage today of those keys of these workspaces that had most 429s."""
    rows = KeyUsage.objects.filter(day=today(), limited__gt=0, workspace_id__in=list(workspaces))
    return list(rows.order_by("-limited", "key_id")[:WARNINGS])


@dataclass
class Group:
    """Refusals of a key, or of an address, for the same reason, the newest first."""

    rows: list[RefusedRequest]

    @property
    def first(self) -> RefusedRequest:
        return self.rows[-1]

    @property
    def last(self) -> RefusedRequest:
        return self.rows[0]

    @property
    def count(self) -> int:
        return sum(1 + row.more for row in self.rows)

    @property
    def text(self) -> str:
        """What was wrong, in a few words: "document not found"."""
        return self.last.cause.replace("_", " ")


def folded(rows: Sequence[RefusedRequest], *, for_support: bool) -> list[Group]:
    """The groups of some rows, which are newest first.

    Args:
        for_support: without it, the reasons become what admins of the workspace are told.
    """
    groups: dict[Any, Group] = {}
    for row in rows:
        row.reason = row.reason if for_support else row.public_reason
        who = row.key_id or row.key_prefix or row.address
        alike = (who, row.workspace_id, row.status, row.reason)
        groups.setdefault(alike, Group([])).rows.append(row)
    return list(groups.values())


def refused(*, for_support: bool, **conditions: Any) -> list[Group]:
    """The newest refused requests that meet the conditions."""
    rows = RefusedRequest.objects.filter(**conditions).order_by("-created_at", "-id")[:ROWS_READ]
    return folded(list(rows), for_support=for_support)


def ended_keys(workspaces: Collection[UUID]) -> list[Group]:
    """Of the last 24 hours, the requests with keys of these workspaces that have ended, by key."""
    return refused(
        for_support=False,
        workspace_id__in=list(workspaces),
        created_at__gte=timezone.now() - timedelta(hours=24),
        status=401,
        key_id__isnull=False,
        cause=InvalidKey.code,
    )[:WARNINGS]
