"""The ids of requests: random, and they say when. A flood is counted by the minute, so the id of a
request in it leads there."""

import contextlib
import time
import uuid
from datetime import UTC, datetime

_RANDOM = 20  # hexadecimal digits, the first ones, which lists show; then the milliseconds


def new() -> str:
    """The id of a request that begins now: 32 hexadecimal digits."""
    return f"{uuid.uuid4().hex[:_RANDOM]}{time.time_ns() // 1_000_000:012x}"


def made_at(id: str) -> datetime | None:
    """When a request began, in UTC; None if the id is none of a request's."""
    with contextlib.suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(int(id[_RANDOM:], 16) / 1000, UTC)
    return None
