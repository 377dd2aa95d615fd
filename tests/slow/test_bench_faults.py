"""The judgement of `make faults`: when a promise holds."""

from dataclasses import replace
from typing import Any

import pytest

from bench.client import Outcome
from bench.faults import __main__ as faults
from bench.faults import overload
from bench.faults.catalogue import FAULTS
from bench.faults.verdict import Answer, Promise, Seen, seconds_until_healthy

RIGHT = Outcome("me", due=10.0, seconds=0.01, status=200)
REFUSED = replace(RIGHT, status=503, retry_after=True)
CLOSED = Outcome("me", due=10.0, seconds=0.01, problem="closed")
SLOW_DOWNLOAD = replace(REFUSED, endpoint="download", seconds=2.0)
DOWN = Promise(downloads=Answer((200, 503), 6.0, 1.0))


def seen(*during: Outcome, **others: Any) -> Seen:
    """What clients saw during a fault; before it, one right response."""
    return Seen([RIGHT], list(during), **others)


@pytest.mark.parametrize(
    ("promise", "found", "broken"),
    [
        (Promise(), seen(RIGHT), []),
        (Promise(), seen(RIGHT, REFUSED), ["me: 503 × 1"]),
        (
            Promise(),
            seen(RIGHT, replace(REFUSED, retry_after=False)),
            ["me: 503 × 1", "me: 503 without Retry-After × 1"],
        ),
        (Promise(), seen(RIGHT, CLOSED), ["me: closed × 1"]),
        (Promise(), seen(RIGHT, RIGHT, replace(RIGHT, seconds=1.5)), ["me: slowest 1.5 s"]),
        (DOWN, seen(RIGHT, replace(SLOW_DOWNLOAD, seconds=0.1)), []),
        (DOWN, seen(REFUSED, SLOW_DOWNLOAD), ["me: 503 × 1", "download: median 2.00 s"]),
        (Promise(ratio=3.0), seen(replace(RIGHT, seconds=0.03)), []),
        (Promise(ratio=3.0), seen(replace(RIGHT, seconds=0.031)), ["median 3.1 × undisturbed"]),
        (
            Promise(requests=2),
            seen(RIGHT, healthy=6.0, broken=["its port is in use"], lost=["1 not recorded"]),
            ["only 1 requests", "healthy after 6.0 s", "its port is in use", "1 not recorded"],
        ),
    ],
)
def test_promise_names_what_does_not_hold(promise: Promise, found: Seen, broken: list[str]) -> None:
    assert promise.broken(found) == broken


def test_seconds_until_healthy_end_with_the_last_request_that_is_not_right_and_quick() -> None:
    slow = replace(RIGHT, due=13.0, seconds=1.1)
    large = replace(slow, due=14.0, size=40_000_000)
    before = replace(CLOSED, due=9.0)
    assert seconds_until_healthy([before, RIGHT, slow, large], end=10.5) == 2.5
    assert seconds_until_healthy([before, RIGHT], end=10.5) == 0


def test_overload_needs_goodput_refusals_with_retry_after_and_short_waits() -> None:
    assert overload.overloaded(100, 1000, 80, [RIGHT, REFUSED])[1] == []
    outcomes = [replace(RIGHT, seconds=3.5), replace(REFUSED, retry_after=False), CLOSED]
    assert overload.overloaded(100, 1000, 79, outcomes)[1] == [
        "goodput 79% of the best",
        "not a 503 with Retry-After: 503 × 1, closed × 1",
        "an accepted request took 3.5 s",
    ]


def test_soak_is_flat_unless_something_rises() -> None:
    first: overload.Sample = {"memory": 100, "threads": 20, "connections": 9}
    flat: overload.Sample = {"memory": 109, "threads": 28, "connections": 0}
    more: overload.Sample = {"memory": 109, "threads": 29, "connections": 18}
    assert overload.rising([[first], [more], [flat]], [RIGHT]) == []
    broken = ["connections rises", "threads rises", "closed × 1"]
    assert overload.rising([[first], [first], [more]], [RIGHT, CLOSED]) == broken


def test_row_has_a_cell_for_each_endpoint_and_the_verdict() -> None:
    cells = faults.row(FAULTS[0], seen(RIGHT, replace(REFUSED, endpoint="list")))
    assert cells[1:4] == ["200 × 1; 10/10 ms", "503 × 1; 10/10 ms", "–"]
    assert cells[-1] == "**no**: list: 503 × 1"
