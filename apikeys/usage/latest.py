"""The latest refused requests, folded: the newest of those that are alike, and how many more.

A client that tries again and again would otherwise fill a short list with one request.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from apikeys.usage.models import RefusedRequest
from apikeys.usage.reasons import explain
from config.api import errors

READ = 200  # of the newest rows, whatever is shown of them


def of_key(key_id: UUID, limit: int, *, for_support: bool) -> list[RefusedRequest]:
    """The last refused requests of a key, by status and reason; its mistyped uses too.

    Args:
        for_support: without it, what admins are told. Rows that differ only in what they must not
            know are alike.
    """
    rows = _newest(key_id=key_id)
    explain(rows, for_support=for_support)
    return _fold(rows, lambda row: (row.status, row.reason))[:limit]


def of_known_keys(limit: int) -> list[RefusedRequest]:
    """For support: the last of all keys that exist or existed, by key and status."""
    return _by_key(limit, key_id__isnull=False)


def of_refused_keys(limit: int) -> list[RefusedRequest]:
    """For support: the last tries of keys that were revoked or deleted, or mistyped, by key."""
    return _by_key(limit, key_id__isnull=False, status=401)


def of_ended_keys(workspaces: Collection[UUID]) -> list[RefusedRequest]:
    """The tries of the last 24 hours of keys of these workspaces that have ended, by key."""
    conditions = {"status": 401, "key_id__isnull": False, "cause": errors.InvalidKey.code}
    since = timezone.now() - timedelta(hours=24)
    rows = _newest(workspace_id__in=list(workspaces), created_at__gte=since, **conditions)
    return _fold(rows, lambda row: row.key_id)


def _by_key(limit: int, **conditions: Any) -> list[RefusedRequest]:
    found = _fold(_newest(**conditions), lambda row: (row.key_id, row.status))[:limit]
    explain(found, for_support=True)
    return found


def _newest(**conditions: Any) -> list[RefusedRequest]:
    return list(RefusedRequest.objects.filter(**conditions).order_by("-created_at", "-id")[:READ])


def _fold(
    rows: Iterable[RefusedRequest], alike: Callable[[RefusedRequest], Hashable]
) -> list[RefusedRequest]:
    """The newest of the rows that are alike; its `more` counts the others too.

    Args:
        rows: newest first.
        alike: what they have in common.
    """
    folded: dict[Hashable, RefusedRequest] = {}
    for row in rows:
        newest = folded.setdefault(alike(row), row)
        if newest is not row:
            newest.more += 1 + row.more
    return list(folded.values())
