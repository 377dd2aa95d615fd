"""Deletes what is too old or too much, some rows at a time."""

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from apikeys.usage.models import KeyAddress, KeyUsage, RefusedRequest, Traffic

KEEP_USAGE = timedelta(days=400)
KEEP_REFUSED = timedelta(days=30)
KEEP_TRAFFIC = timedelta(days=2)
REFUSED_KEPT = 1_000_000  # rows, about 1 GB; the newest
# Of these, rows without a key, and rows of keys that were not valid: anybody can cause both. So a
# flood without a valid key displaces no rows of valid keys.
UNAUTHENTICATED_KEPT = 100_000
ROWS = 1000  # of each table and rule, at a time


def purge() -> bool:
    """Deletes at most `ROWS` rows of each table and rule; returns whether there may be more."""
    now, refused = timezone.now(), RefusedRequest.objects.order_by("-created_at", "-id")
    unknown = refused.filter(key_id=None).order_by("key_id", "-created_at", "-id")
    rows: list[QuerySet[Any]] = [
        KeyUsage.objects.filter(day__lt=now - KEEP_USAGE).order_by("day"),
        KeyAddress.objects.filter(last_seen__lt=now - KEEP_USAGE),  # as small as its keys are few
        refused.filter(created_at__lt=now - KEEP_REFUSED).order_by("created_at"),
        Traffic.objects.filter(period__lt=now - KEEP_TRAFFIC).order_by("period"),
        # Each in the order of an index.
        unknown[UNAUTHENTICATED_KEPT:],
        refused.filter(key_id__isnull=False, status=401)[UNAUTHENTICATED_KEPT:],
        refused[REFUSED_KEPT:],
    ]
    more = [_delete(each[:ROWS]) for each in rows]
    return any(more)


def _delete(rows: QuerySet[Any]) -> bool:
    deleted, _ = rows.model.objects.filter(pk__in=rows.values("pk")).delete()
    return bool(deleted == ROWS)
