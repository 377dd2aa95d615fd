"""What tests of the usage of keys need: buffers of their own, and rows."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apikeys.usage.buffers import DROPPED
from apikeys.usage.flusher import Flusher
from apikeys.usage.middleware import BUFFERS
from apikeys.usage.models import RefusedRequest
from apikeys.usage.refusals import REFUSED


def empty_buffers() -> None:
    for buffer in BUFFERS:
        buffer.take()
        buffer._failed = {}
    REFUSED.forget_groups()


@pytest.fixture
def flusher() -> Iterator[Flusher]:
    """Writes what this test's requests have added, and nothing else."""
    empty_buffers()
    yield Flusher(BUFFERS)
    empty_buffers()


def refused(count: int = 1, **fields: Any) -> list[RefusedRequest]:
    """Makes rows of refused requests, a second apart, the newest first, now.

    Args:
        fields: of RefusedRequest; a function is called with each row's number, from 0.
    """
    defaults = {
        "created_at": lambda number: now() - timedelta(seconds=number),
        "request_id": lambda number: f"{number:08x}{'f' * 24}",
        "status": 404,
        "response_text": "There is no such document in this workspace.",
        "reason": "No document has this id.",
        "method": "GET",
        "path": "/api/v1/documents/x",
    }
    return RefusedRequest.objects.bulk_create(
        RefusedRequest(
            **{
                name: value(number) if callable(value) else value
                for name, value in (defaults | fields).items()
            }
        )
        for number in range(count)
    )


def dropped(kind: str) -> float:
    """How many requests have found the buffer full, as its metric says."""
    [metric] = DROPPED.collect()
    [value] = [
        sample.value
        for sample in metric.samples
        if sample.name.endswith("_total") and sample.labels["kind"] == kind
    ]
    return value


def find_request(request_id: str) -> list[RefusedRequest]:
    """The refused requests whose id begins so."""
    return list(RefusedRequest.objects.filter(request_id__startswith=request_id))


def now() -> datetime:
    return timezone.now()
