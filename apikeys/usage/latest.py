"""The latest refused requests, folded: the newest of those that are alike, and how many more.

A client that tries again and again would otherwise fill a short list with one request.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apikeys.usage.models import RefusedRequest
from apikeys.usage.reasons import explain

READ = 200  # of the newest rows, whatever is shown of them


@dataclass
class Folded:
    """Refused requests that are alike.

    Attributes:
        row: the newest.
        more: how many others there are among the rows that were read, those without a row too.
    """

    row: RefusedRequest
    more: int

    @property
    def reason(self) -> str:
        """What the reader is told."""
        return self.row.reason


def of_key(key_id: UUID, limit: int, *, for_support: bool) -> list[Folded]:
    """The last refused requests of a key, by status and reason; its mistyped uses too.

    Args:
        for_support: without it, what admins are told. Rows that differ only in what they must not
            know are alike.
    """
    rows = _newest(key_id=key_id)
    explain(rows, for_support=for_support)
    return _fold(rows, lambda row: (row.status, row.reason))[:limit]


def of_known_keys(limit: int) -> list[Folded]:
    """For support: the last of all keys that exist or existed, by key and status."""
    return _by_key(limit, key_id__isnull=False)


def of_refused_keys(limit: int) -> list[Folded]:
    """For support: the last tries of keys that were revoked or deleted, or mistyped, by key."""
    return _by_key(limit, key_id__isnull=False, status=401)


def _by_key(limit: int, **conditions: Any) -> list[Folded]:
    found = _fold(_newest(**conditions), lambda row: (row.key_id, row.status))[:limit]
    explain([each.row for each in found], for_support=True)
    return found


def _newest(**conditions: Any) -> list[RefusedRequest]:
    return list(RefusedRequest.objects.filter(**conditions).order_by("-created_at", "-id")[:READ])


def _fold(
    rows: Iterable[RefusedRequest], alike: Callable[[RefusedRequest], Hashable]
) -> list[Folded]:
    """The rows, newest first, folded by what they have in common."""
    folded: dict[Hashable, Folded] = {}
    for row in rows:
        if found := folded.get(alike(row)):
            found.more += 1 + row.more
        else:
            folded[alike(row)] = Folded(row, row.more)
    return list(folded.values())
