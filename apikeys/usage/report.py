"""What pages show of the usage of keys. Each query reads a range of one index.

What a process has counted in the last few seconds is not in it yet (`apikeys.usage.flusher`).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.usage.models import KeyAddress, KeyUsage, RefusedRequest
from apikeys.usage.reasons import unavailable
from config.console.system import Fact
from workspaces.models import Workspace

REASONS_SHOWN = 10  # of 503s
_COUNTED = ("ok", "errors", "limited", "downloads")


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
class WorkspaceUsage(Usage):
    """The usage of a workspace; its label is "" if the workspace does not exist any more."""

    workspace_id: UUID
    label: str


def today() -> date:
    """The day in UTC."""
    return timezone.now().astimezone(UTC).date()


def daily(
    ids: Iterable[UUID], days: int = 30, of: Literal["key_id", "workspace_id"] = "key_id"
) -> dict[UUID, list[Day]]:
    """Of each key or workspace, the last so many days, today included, oldest first.

    Days without requests too.

    Args:
        ids: also those of deleted ones.
    """
    wanted = list(ids)
    dates = [today() - timedelta(days=back) for back in reversed(range(days))]
    rows = KeyUsage.objects.filter(**{f"{of}__in": wanted}, day__in=dates)
    found = {(row[of], row["day"]): _day(row) for row in _summed(rows, of, "day")}
    return {id: [found.get((id, day)) or Day(date=day) for day in dates] for id in wanted}


def daily_of_all(days: int = 30) -> list[Day]:
    """The same of all keys together. All rows of these days are read: one for each key in use."""
    dates = [today() - timedelta(days=back) for back in reversed(range(days))]
    rows = KeyUsage.objects.filter(day__gte=dates[0])
    found = {row["day"]: _day(row) for row in _summed(rows, "day")}
    return [found.get(day) or Day(date=day) for day in dates]


def total(days: Iterable[Day]) -> Usage:
    """The sums of these days."""
    each = list(days)
    return Usage(**{name: sum(getattr(day, name) for day in each) for name in _COUNTED})


def addresses(key_id: UUID) -> QuerySet[KeyAddress, Any]:
    """The addresses of a key, the last seen first; at most `ADDRESSES_KEPT`, or a few more.

    `is_new` says of each whether it was first seen today, and the key is older.
    """
    midnight = datetime.combine(today(), time.min, UTC)
    older = Exists(ApiKey.objects.filter(pk=OuterRef("key_id"), created_at__lt=midnight))
    return (
        KeyAddress.objects.filter(key_id=key_id)
        .annotate(is_new=Q(older, first_seen__gte=midnight))
        .order_by("-last_seen", "address")
    )


def limited_keys(
    limit: int = 5, workspaces: Collection[UUID] | None = None
) -> list[tuple[KeyUsage, ApiKey | None]]:
    """The keys with most 429s today, of all workspaces or these; without a key, it was deleted.

    Of all workspaces, all rows of today are read: one for each key in use.
    """
    rows = KeyUsage.objects.filter(day=today(), limited__gt=0).order_by("-limited", "key_id")
    if workspaces is not None:
        rows = rows.filter(workspace_id__in=list(workspaces))
    most = list(rows[:limit])
    keys = ApiKey.objects.select_related("workspace").in_bulk([row.key_id for row in most])
    return [(row, keys.get(row.key_id)) for row in most]


def top_workspaces(limit: int = 10) -> list[WorkspaceUsage]:
    """The workspaces with most requests today; those with none are left out.

    All rows of today are read: one for each key that was used.
    """
    rows = _summed(KeyUsage.objects.filter(day=today()), "workspace_id")
    most = list(rows.filter(all_requests__gt=0).order_by("-all_requests", "workspace_id")[:limit])
    found = Workspace.objects.in_bulk([row["workspace_id"] for row in most])
    labels = {id: workspace.label for id, workspace in found.items()}
    return [_usage(row, labels.get(row["workspace_id"], "")) for row in most]


def _summed(rows: QuerySet[KeyUsage], *by: str) -> Any:
    """The sums of the rows, grouped."""
    sums = {f"all_{name}": Sum(name) for name in _COUNTED}
    requests = Sum(F("ok") + F("errors") + F("limited"))
    return rows.order_by().values(*by).annotate(all_requests=requests, **sums)


def _day(row: Mapping[str, Any]) -> Day:
    return Day(date=row["day"], **{name: int(row[f"all_{name}"]) for name in _COUNTED})


def _usage(row: Mapping[str, Any], label: str) -> WorkspaceUsage:
    counts = {name: row.get(f"all_{name}", 0) for name in _COUNTED}
    return WorkspaceUsage(workspace_id=row["workspace_id"], label=label, **counts)


def read_unavailable() -> list[Fact]:
    """Responses with 503 in the last 24 hours, by their reason, the most frequent first.

    For the page System of operators.
    """
    since = timezone.now() - timedelta(hours=24)
    rows = RefusedRequest.objects.filter(status=503, created_at__gt=since).order_by()
    counted = rows.values("cause", "reason").annotate(all=Count("pk") + Sum(F("more")))
    facts = [
        Fact(unavailable(row["cause"], row["reason"]), f"{row['all']:,}", "warn")
        for row in counted.order_by("-all", "reason")[:REASONS_SHOWN]
    ]
    return facts or [Fact("For any reason", "none", "ok")]
