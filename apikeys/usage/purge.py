"""Deletes what is too old or too much, some rows at a time."""

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from apikeys.usage.models import KeyUsage, RefusedRequest

KEEP_USAGE = timedelta(days=400)
KEEP_REFUSED = timedelta(days=30)
REFUSED_KEPT = 1_000_000  # rows, about 1 GB; the newest
WITHOUT_KEY_KEPT = 100_000  # of these: a flood without keys displaces no rows of keys
ROWS = 1000  # of each rule, at a time


def purge() -> bool:
    """Deletes at most `ROWS` rows of each rule, by an index; returns whether there may be more."""
    now, refused = timezone.now(), RefusedRequest.objects.order_by("-created_at", "-id")
    rules: list[QuerySet[Any]] = [
        KeyUsage.objects.filter(day__lt=now - KEEP_USAGE).order_by("day"),
        refused.filter(created_at__lt=now - KEEP_REFUSED).order_by("created_at"),
        refused.filter(key_id=None).order_by("key_id", "-created_at", "-id")[WITHOUT_KEY_KEPT:],
        refused[REFUSED_KEPT:],
    ]
    some = [rows.model.objects.filter(pk__in=rows[:ROWS].values("pk")) for rows in rules]
    return ROWS in [rows.delete()[0] for rows in some]
