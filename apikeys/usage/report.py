"""What pages show of the usage of keys. Each query reads a range of one index.

What a process has counted in the last few seconds is not in it yet (`apikeys.usage.flusher`).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from operator import attrgetter
from typing import Any, Literal
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.states import today
from apikeys.usage.models import KeyAddress, KeyUsage, RefusedRequest
from apikeys.usage.reasons import explain
from config.api.errors import InvalidKey
from workspaces.models import Workspace

LIMITED_SHOWN = 5  # keys
REFUSED_READ = 200  # of the newest refused requests, whatever is shown of them
_COUNTED = ("ok", "errors", "limited", "downloads")
_SUMS = [Sum(name) for name in _COUNTED]


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


def daily(
    ids: Iterable[UUID], days: int = 30, of: Literal["key_id", "workspace_id"] = "key_id"
) -> dict[UUID, list[Day]]:
    """Of each key or workspace, the last so many days, today included, oldest first.

    Days without requests too.

    Args:
        ids: also those of deleted ones.
    """
    wanted, dates = list(ids), _last(days)
    rows = KeyUsage.objects.filter(**{f"{of}__in": wanted}, day__in=dates).values(of, "day")
    found = {(id, day): _counts(sums) for id, day, *sums in rows.values_list(of, "day", *_SUMS)}
    return {id: [Day(date=day, **found.get((id, day), {})) for day in dates] for id in wanted}


def daily_of_all(days: int = 30) -> list[Day]:
    """The same of all keys together. All rows of these days are read: one for each key in use."""
    dates = _last(days)
    rows = KeyUsage.objects.filter(day__gte=dates[0]).values("day")
    found = {day: _counts(sums) for day, *sums in rows.values_list("day", *_SUMS)}
    return [Day(date=day, **found.get(day, {})) for day in dates]


def _last(days: int) -> list[date]:
    return [today() - timedelta(days=back) for back in reversed(range(days))]


def _counts(sums: Iterable[Any]) -> dict[str, int]:
    return {name: int(number) for name, number in zip(_COUNTED, sums, strict=False)}


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


def limited_keys(workspaces: Collection[UUID]) -> list[tuple[KeyUsage, ApiKey | None]]:
    """The keys of these workspaces with most 429s today; without a key, it was deleted."""
    rows = KeyUsage.objects.filter(day=today(), limited__gt=0, workspace_id__in=list(workspaces))
    most = list(rows.order_by("-limited", "key_id")[:LIMITED_SHOWN])
    keys = ApiKey.objects.select_related("workspace").in_bulk([row.key_id for row in most])
    return [(row, keys.get(row.key_id)) for row in most]


def top_workspaces() -> list[tuple[UUID, str, Usage]]:
    """The 10 workspaces with most requests today: id, label, usage; those with none are left out.

    The label is "" if the workspace does not exist any more. All rows of today are read: one for
    each key that was used.
    """
    requests = Sum(F("ok") + F("errors") + F("limited"))
    rows = KeyUsage.objects.filter(day=today()).values("workspace_id").annotate(requests=requests)
    most = rows.filter(requests__gt=0).order_by("-requests", "workspace_id")
    found = {id: _counts(sums) for id, *sums in most.values_list("workspace_id", *_SUMS)[:10]}
    labels = {each.pk: each.label for each in Workspace.objects.filter(pk__in=list(found))}
    return [(id, labels.get(id, ""), Usage(**counts)) for id, counts in found.items()]


def refused(
    alike: tuple[str, ...], limit: int | None = None, *, for_support: bool = True, **conditions: Any
) -> list[RefusedRequest]:
    """The newest refused requests that are not alike; their `more` counts the others too.

    A client that tries again and again would otherwise fill a short list with one request.

    Args:
        alike: the fields that requests have in common if they are alike.
        for_support: as for `explain`. Requests that differ only in what admins must not know are
            alike to them.
    """
    found = RefusedRequest.objects.filter(**conditions).order_by("-created_at", "-id")
    rows = list(found[:REFUSED_READ])
    explain(rows, for_support=for_support)
    newest: dict[Any, RefusedRequest] = {}
    for row in rows:
        first = newest.setdefault(attrgetter(*alike)(row), row)
        if first is not row:
            first.more += 1 + row.more
    return list(newest.values())[:limit]


def refused_ended_keys(workspaces: Collection[UUID]) -> list[RefusedRequest]:
    """The requests of the last 24 hours with keys of these workspaces that have ended, by key."""
    return refused(
        ("key_id",),
        workspace_id__in=list(workspaces),
        created_at__gte=timezone.now() - timedelta(hours=24),
        status=401,
        key_id__isnull=False,
        cause=InvalidKey.code,
    )
