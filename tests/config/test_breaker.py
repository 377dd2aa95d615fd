"""Circuit breakers: how many failures open one, and how it closes."""

import threading

import pytest
from config.runtime.breaker import PAUSE, Breaker, BreakerOpen


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only moves when the test moves it: `clock[0]`."""
    now = [100.0]
    monkeypatch.setattr("config.runtime.breaker.time.monotonic", lambda: now[0])
    monkeypatch.setattr(Breaker, "every", {})
    return now


def fail(breaker: Breaker) -> None:
    with pytest.raises(OSError, match="gone"), breaker.call(OSError):
        raise OSError("gone")


def succeed(breaker: Breaker) -> None:
    with breaker.call(OSError):
        pass


def test_breaker_opens_after_consecutive_failures_and_refuses_at_once(clock: list[float]) -> None:
    breaker = Breaker("store", failures=3)
    fail(breaker)
    fail(breaker)
    succeed(breaker)  # not consecutive
    fail(breaker)
    fail(breaker)
    assert not breaker.open
    fail(breaker)
    assert breaker.open
    with pytest.raises(BreakerOpen, match="store"):
        succeed(breaker)


def test_open_breaker_lets_one_call_through_each_second(clock: list[float]) -> None:
    breaker = Breaker("store", failures=1)
    fail(breaker)
    admitted = []
    for _ in range(4):
        clock[0] += PAUSE
        threads = [threading.Thread(target=lambda: admitted.append(breaker.admits())) for _ in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(admitted) == [False] * 4 + [True] * 4


def test_first_success_closes_breaker(clock: list[float]) -> None:
    breaker = Breaker("store", failures=1)
    fail(breaker)
    clock[0] += PAUSE
    succeed(breaker)
    assert not breaker.open
    succeed(breaker)


def test_other_exceptions_are_no_failures(clock: list[float]) -> None:
    breaker = Breaker("store", failures=1)
    with pytest.raises(ValueError, match="ours"), breaker.call(OSError):
        raise ValueError("ours")
    assert not breaker.open


def test_breaker_lets_another_call_through_after_an_undecided_one(clock: list[float]) -> None:
    breaker = Breaker("database", failures=1)
    breaker.failed()
    clock[0] += PAUSE
    assert breaker.admits()
    assert not breaker.admits()
    breaker.undecided()
    assert breaker.open
    assert breaker.admits()
