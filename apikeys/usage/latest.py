"""The latest refused requests, folded: the newest of those that are alike, and how many more.

A client that tries again and again would otherwise fill a short list with one request.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from apikeys.usage.models import RefusedRequest

READ = 200  # of the newest rows, whatever is shown of them


@dataclass
class Folded:
    """Refused requests that are alike.

    Attributes:
        row: the newest.
        reason: what the reader is told.
        more: how many others there are among the rows that were read, those without a row too.
    """

    row: RefusedRequest
    reason: str
    more: int


def of_key(key_id: UUID, limit: int, *, for_support: bool) -> list[Folded]:
    """The last refused requests of a key, by status and reason; its mistyped uses too.

    Args:
        for_support: without it, what admins are told. Rows that differ only in what they must not
            know are alike.
    """

    def reason(row: RefusedRequest) -> str:
        return row.reason if for_support else row.reason_for_admins

    rows = RefusedRequest.objects.filter(key_id=key_id)
    return _fold(_newest(rows), lambda row: (row.status, reason(row)), reason)[:limit]


def of_known_keys(limit: int) -> list[Folded]:
    """The last refused requests of all keys that exist or existed, by key and status."""
    rows = RefusedRequest.objects.filter(key_id__isnull=False)
    return _by_key(_newest(rows))[:limit]


def of_refused_keys(limit: int) -> list[Folded]:
    """The last tries of keys that were revoked or deleted, or mistyped, by key."""
    rows = RefusedRequest.objects.filter(status=401, key_id__isnull=False)
    return _by_key(_newest(rows))[:limit]


def _newest(rows: QuerySet[RefusedRequest]) -> QuerySet[RefusedRequest]:
    return rows.order_by("-created_at", "-id")[:READ]


def _by_key(rows: Iterable[RefusedRequest]) -> list[Folded]:
    return _fold(rows, lambda row: (row.key_id, row.status), lambda row: row.reason)


def _fold(
    rows: Iterable[RefusedRequest],
    alike: Callable[[RefusedRequest], Hashable],
    reason: Callable[[RefusedRequest], str],
) -> list[Folded]:
    """The rows, newest first, folded by what they have in common."""
    folded: dict[Hashable, Folded] = {}
    for row in rows:
        if found := folded.get(alike(row)):
            found.more += 1 + row.more
        else:
            folded[alike(row)] = Folded(row, reason(row), row.more)
    return list(folded.values())
