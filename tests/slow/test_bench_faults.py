"""The judgement of `make faults`: when a promise holds."""

from dataclasses import replace
from typing import Any

import pytest

from bench.faults import page
from bench.faults.catalogue import FAULTS
from bench.faults.client import Outcome
from bench.faults.overload import Overload
from bench.faults.soak import Sample
from bench.faults.verdict import (
    Answer,
    Audit,
    Promise,
    Seen,
    counts,
    ratio_of,
    seconds_until_healthy,
)

RIGHT = Outcome("me", due=10.0, seconds=0.01, status=200)
REFUSED = replace(RIGHT, status=503, retry_after=True)
CLOSED = Outcome("me", due=10.0, seconds=0.01, problem="closed")


def seen(*during: Outcome, **others: Any) -> Seen:
    """What clients saw during a fault; before it, one right response."""
    return replace(Seen([RIGHT], list(during), [], healthy=0.0), **others)


def test_promise_holds_for_right_and_quick_responses() -> None:
    assert Promise().broken(seen(RIGHT)) == []


@pytest.mark.parametrize(
    ("outcome", "broken"),
    [
        (REFUSED, ["me: 503 × 1"]),
        (replace(REFUSED, retry_after=False), ["me: 503 × 1", "me: 503 without Retry-After × 1"]),
        (CLOSED, ["me: closed × 1"]),
        (replace(RIGHT, problem="wrong body"), ["me: wrong body × 1"]),
        (replace(RIGHT, seconds=1.5), ["me: slowest 1.5 s"]),
        (
            replace(RIGHT, endpoint="download", seconds=7),
            ["download: slowest 7.0 s", "download: median 7.00 s"],
        ),
    ],
)
def test_promise_names_what_does_not_hold(outcome: Outcome, broken: list[str]) -> None:
    assert Promise().broken(seen(RIGHT, RIGHT, outcome)) == broken


def test_promise_holds_for_each_endpoint_by_itself() -> None:
    promise = Promise(downloads=Answer((200, 503), 6.0, 1.0))
    download = replace(REFUSED, endpoint="download")
    assert promise.broken(seen(RIGHT, download)) == []
    assert promise.broken(seen(REFUSED, download)) == ["me: 503 × 1"]
    assert promise.broken(seen(RIGHT, *[replace(download, seconds=2.0)] * 3)) == [
        "download: median 2.00 s"
    ]


def test_promise_compares_the_median_with_the_undisturbed_one() -> None:
    quick, slower = replace(RIGHT, seconds=0.03), replace(RIGHT, seconds=0.031)
    assert Promise(ratio=3.0).broken(seen(quick)) == []
    assert Promise(ratio=3.0).broken(seen(slower)) == ["median 3.1 × undisturbed"]
    assert ratio_of(seen()) == 0


def test_promise_includes_health_requests_audit_log_and_the_faults_own() -> None:
    found = seen(RIGHT, healthy=6.0, broken=["its port is in use"], audit=Audit(9, 1, 2, 3))
    assert Promise(requests=2).broken(found) == [
        "only 1 requests",
        "healthy after 6.0 s",
        "its port is in use",
        "1 downloads not recorded",
        "2 completions not recorded",
        "3 wrong completions",
    ]


def test_seconds_until_healthy_end_with_the_last_request_that_is_not_right_and_quick() -> None:
    slow = replace(RIGHT, due=13.0, seconds=1.1)
    large = replace(slow, due=14.0, size=40_000_000)
    before = replace(CLOSED, due=9.0)
    assert seconds_until_healthy([before, RIGHT, slow, large], end=10.5) == 2.5
    assert seconds_until_healthy([before, RIGHT], end=10.5) == 0


def test_counts_names_statuses_and_problems() -> None:
    assert counts([RIGHT, RIGHT, REFUSED, CLOSED]) == "200 × 2, 503 × 1, closed × 1"


def test_overload_needs_goodput_refusals_with_retry_after_and_short_waits() -> None:
    load = Overload(best=100, offered=1000, goodput=80, outcomes=[RIGHT, REFUSED])
    assert load.broken() == []
    assert replace(load, goodput=79).broken() == ["goodput 79% of the best"]
    outcomes = [replace(RIGHT, seconds=3.5), replace(REFUSED, retry_after=False), CLOSED]
    assert replace(load, outcomes=outcomes).broken() == [
        "not a 503 with Retry-After: 503 × 1, closed × 1",
        "an accepted request took 3.5 s",
    ]


def test_soak_is_flat_unless_something_rises() -> None:
    first = Sample(memory=100, threads=20, descriptors=50, connections=9)
    flat = Sample(memory=109, threads=28, descriptors=58, connections=0)
    more = Sample(memory=111, threads=29, descriptors=59, connections=18)
    assert page.soak_broken([[first], [more], [flat]], [RIGHT]) == []
    assert page.soak_broken([[first], [first], [more]], [RIGHT, CLOSED]) == [
        "connections rises",
        "descriptors rises",
        "memory rises",
        "threads rises",
        "closed × 1",
    ]


def test_row_has_a_cell_for_each_endpoint_and_the_verdict() -> None:
    fault = FAULTS[0]
    cells = page.row(fault, seen(RIGHT, replace(REFUSED, endpoint="list")))
    assert fault.name in cells[0]
    assert cells[1] == "200 × 1; 10/10 ms"
    assert cells[2] == "503 × 1; 10/10 ms"
    assert cells[3] == "–"
    assert cells[-1] == "**no**: list: 503 × 1"


def test_names_of_faults_are_unique() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names)
