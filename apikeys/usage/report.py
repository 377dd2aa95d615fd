"""What pages show of the usage of keys. Each query reads a range of one index.

What a process has counted in the last few seconds is not in it yet (`apikeys.usage.flusher`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal
from uuid import UUID

from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.usage.models import KeyAddress, KeyUsage
from workspaces.models import Workspace, label


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Requests by what the response was: 2xx and 3xx, 4xx and 5xx, 429; and downloads of those."""

    ok: int = 0
    errors: int = 0
    limited: int = 0
    downloads: int = 0

    @property
    def requests(self) -> int:
        return self.ok + self.errors + self.limited


@dataclass(frozen=True, kw_only=True)
class Day(Usage):
    """The usage of one day (UTC)."""

    date: date


@dataclass(frozen=True, kw_only=True)
class Address:
    """An address that a key was used from.

    Attributes:
        user_agent: the last one.
        is_new: whether it was first seen today, and the key is older.
    """

    address: str
    user_agent: str
    first_seen: datetime
    last_seen: datetime
    requests: int
    is_new: bool


@dataclass(frozen=True, kw_only=True)
class WorkspaceUsage(Usage):
    """The usage of a workspace; its name is "" if the workspace does not exist any more."""

    workspace_id: UUID
    name: str

    @property
    def label(self) -> str:
        """The name and the first characters of the id."""
        return label(self.workspace_id, self.name)


def today() -> date:
    """The day in UTC."""
    return timezone.now().astimezone(UTC).date()


def daily(key_ids: Iterable[UUID], days: int = 30) -> dict[UUID, list[Day]]:
    """Of each key, the last so many days, today included, oldest first; days without requests too.

    Args:
        key_ids: also those of deleted keys.
    """
    ids = list(key_ids)
    dates = [today() - timedelta(days=back) for back in reversed(range(days))]
    rows = KeyUsage.objects.filter(key_id__in=ids, day__gte=dates[0])
    found = {
        (row.key_id, row.day): Day(
            date=row.day,
            ok=row.ok,
            errors=row.errors,
            limited=row.limited,
            downloads=row.downloads,
        )
        for row in rows
    }
    return {id: [found.get((id, day)) or Day(date=day) for day in dates] for id in ids}


def total(days: Iterable[Day]) -> Usage:
    """The sums of these days."""
    each = list(days)
    return Usage(**{name: sum(getattr(day, name) for day in each) for name in _COUNTED})


def addresses(key_id: UUID) -> list[Address]:
    """The addresses of a key, the last seen first; at most `ADDRESSES_KEPT`, or a few more."""
    midnight = datetime.combine(today(), time.min, UTC)
    older = ApiKey.objects.filter(pk=key_id, created_at__lt=midnight).exists()
    return [
        Address(
            address=row.address,
            user_agent=row.user_agent,
            first_seen=row.first_seen,
            last_seen=row.last_seen,
            requests=row.requests,
            is_new=older and row.first_seen >= midnight,
        )
        for row in KeyAddress.objects.filter(key_id=key_id).order_by("-last_seen", "address")
    ]


@dataclass(frozen=True)
class LimitedKey:
    """A key over its limit today; without a key, it was deleted."""

    key_id: UUID
    key: ApiKey | None
    limited: int


def limited_keys(limit: int = 5) -> list[LimitedKey]:
    """The keys with most 429s today. All rows of today are read: one for each key in use."""
    rows = KeyUsage.objects.filter(day=today(), limited__gt=0).order_by("-limited", "key_id")
    most = list(rows[:limit])
    keys = ApiKey.objects.select_related("workspace").in_bulk([row.key_id for row in most])
    return [LimitedKey(row.key_id, keys.get(row.key_id), row.limited) for row in most]


_COUNTED = ("ok", "errors", "limited", "downloads")
_SUMS = {f"all_{name}": Sum(name) for name in _COUNTED}


def _summed(row: Any) -> dict[str, int]:
    return {name: row[f"all_{name}"] for name in _COUNTED}


def workspace_today(workspace_ids: Iterable[UUID]) -> dict[UUID, Usage]:
    """Today's usage of each of the workspaces."""
    ids = list(workspace_ids)
    rows = KeyUsage.objects.filter(day=today(), workspace_id__in=ids).order_by()
    sums = rows.values("workspace_id").annotate(**_SUMS)
    return {id: Usage() for id in ids} | {
        row["workspace_id"]: Usage(**_summed(row)) for row in sums
    }


def top_workspaces(
    days: int = 1, by: Literal["requests", "limited"] = "requests", limit: int = 10
) -> list[WorkspaceUsage]:
    """The workspaces with most requests, or most 429s, in the last days, today included.

    Those with none are left out. All rows of these days are read: one for each key that was used.
    """
    order = F("limited") if by == "limited" else F("ok") + F("errors") + F("limited")
    rows = KeyUsage.objects.filter(day__gt=today() - timedelta(days=days)).order_by()
    sums = rows.values("workspace_id").annotate(total=Sum(order), **_SUMS).filter(total__gt=0)
    most = list(sums.order_by("-total", "workspace_id")[:limit])
    names = dict(
        Workspace.objects.filter(pk__in=[row["workspace_id"] for row in most]).values_list(
            "pk", "name"
        )
    )
    return [
        WorkspaceUsage(
            workspace_id=row["workspace_id"],
            name=names.get(row["workspace_id"], ""),
            **_summed(row),
        )
        for row in most
    ]


def unused_keys(workspaces: Iterable[UUID]) -> QuerySet[ApiKey]:
    """The keys of these workspaces that still work and that nobody has used for long."""
    found: QuerySet[ApiKey] = ApiKey.objects.unused().filter(workspace_id__in=list(workspaces))
    return found
