"""What tests of the usage of keys need: a buffer of their own, and rows."""

from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.utils import timezone

from apikeys.usage import flusher as usage_flusher
from apikeys.usage import report
from apikeys.usage.middleware import BUFFER
from apikeys.usage.models import KeyUsage, RefusedRequest
from tests.support.factories import numbered


@pytest.fixture
def flusher(db: None) -> Iterator[ModuleType]:
    """Writes what this test's requests have added, and nothing else."""
    BUFFER.take()
    yield usage_flusher
    BUFFER.take()


def refused(count: int = 1, **fields: Any) -> list[RefusedRequest]:
    """Makes rows of refused requests, a second apart, the newest first, now."""
    defaults = {
        "created_at": lambda number: timezone.now() - timedelta(seconds=number),
        "request_ids": lambda number: [UUID(f"{number:08x}{'f' * 24}")],
        "status": 404,
        "response_text": "There is no such document in this workspace.",
        "reason": "There is no such document in this workspace.",
        "method": "GET",
        "path": "/api/v1/documents/x",
    }
    rows = [RefusedRequest(**numbered(defaults | fields, number)) for number in range(count)]
    for row in rows:
        row.last_at = row.last_at or row.created_at
    return RefusedRequest.objects.bulk_create(rows)


def used(key_id: UUID, workspace_id: UUID, days_ago: int = 0, **counts: Any) -> KeyUsage:
    at = timezone.now() - timedelta(days=days_ago)
    usage = {"key_id": key_id, "workspace_id": workspace_id, "day": at.date(), "last_at": at}
    return KeyUsage.objects.create(**usage, **counts)


class Usage(NamedTuple):
    ok: int = 0
    errors: int = 0
    limited: int = 0
    downloads: int = 0


def numbers(usage: KeyUsage) -> Usage:
    return Usage(*(getattr(usage, name) for name in Usage._fields))


def usage_of(key_id: UUID) -> Usage:
    """The usage of a key in the last 30 days."""
    return numbers(report.total(report.by_day(KeyUsage.objects.filter(key_id=key_id))))


def find_request(request_id: str) -> list[RefusedRequest]:
    return list(RefusedRequest.objects.filter(request_ids__contains=[UUID(request_id)]))
