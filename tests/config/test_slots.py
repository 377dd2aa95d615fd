"""Slots: how many requests run, how long the others wait, and in which order they go on."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from config.runtime.hints import MOST_HINTS, Hints
from config.runtime.slots import FairSemaphore, NoSlot, SignedIn

from config.runtime import slots
from tests.support.server import eventually


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as executor:
        yield executor


def wait_until_waiting(semaphore: FairSemaphore, count: int) -> None:
    assert eventually(lambda: semaphore.waiting == count)


def test_semaphore_lets_as_many_run_as_it_has_slots(threads: ThreadPoolExecutor) -> None:
    semaphore, running, most = FairSemaphore(3, 20), [], []

    def request(_: int) -> None:
        semaphore.acquire()
        running.append(1)
        most.append(len(running))
        time.sleep(0.005)
        running.pop()
        semaphore.release()

    list(threads.map(request, range(60)))
    assert max(most) == 3
    assert (semaphore.in_use, semaphore.waiting, semaphore.refused) == (0, 0, 0)


def test_semaphore_serves_tenants_in_turn_and_each_tenant_in_order(
    threads: ThreadPoolExecutor,
) -> None:
    semaphore, served = FairSemaphore(1, 20), []
    semaphore.acquire()

    def request(tenant: str, number: int) -> None:
        semaphore.acquire(tenant)
        served.append(f"{tenant}{number}")
        semaphore.release(tenant)

    for number, tenant in enumerate(["big", "big", "big", "big", "small", "other"]):
        threads.submit(request, tenant, number)
        wait_until_waiting(semaphore, number + 1)
    semaphore.release()
    assert eventually(lambda: len(served) == 6)
    assert served == ["big0", "small4", "other5", "big1", "big2", "big3"]


def test_semaphore_refuses_what_has_waited_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "TIMEOUT", 0.05)
    semaphore = FairSemaphore(1, 20)
    semaphore.acquire()
    with pytest.raises(NoSlot):
        semaphore.acquire("late")
    assert (semaphore.in_use, semaphore.waiting, semaphore.refused) == (1, 0, 1)
    semaphore.release()
    semaphore.acquire("late")
    assert semaphore.in_use == 1


def test_semaphore_refuses_at_once_when_too_many_wait(threads: ThreadPoolExecutor) -> None:
    semaphore = FairSemaphore(1, 2)
    semaphore.acquire()
    for number in range(2):
        threads.submit(semaphore.acquire)
        wait_until_waiting(semaphore, number + 1)
    with pytest.raises(NoSlot):
        semaphore.acquire()
    assert (semaphore.waiting, semaphore.refused) == (2, 1)
    for _ in range(3):
        semaphore.release()
    assert (semaphore.in_use, semaphore.waiting) == (0, 0)


def test_semaphore_refuses_the_tenant_that_has_most_waiting(threads: ThreadPoolExecutor) -> None:
    semaphore, refused = FairSemaphore(1, 3), []
    semaphore.acquire()

    def request(tenant: str, number: int) -> None:
        try:
            semaphore.acquire(tenant)
        except NoSlot:
            refused.append(number)
        else:
            semaphore.release(tenant)

    for number in range(3):
        threads.submit(request, "big", number)
        wait_until_waiting(semaphore, number + 1)
    threads.submit(request, "small", 3)
    assert eventually(lambda: refused == [2])
    semaphore.release()
    assert eventually(lambda: semaphore.in_use == 0)
    assert (semaphore.waiting, semaphore.refused, refused) == (0, 1, [2])


def test_semaphore_loses_no_slot_when_requests_give_up_while_others_leave(
    monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
) -> None:
    monkeypatch.setattr(slots, "TIMEOUT", 0.002)
    semaphore, refused = FairSemaphore(2, 20), threading.Semaphore(0)

    def request(number: int) -> None:
        try:
            semaphore.acquire(number % 3)
        except NoSlot:
            refused.release()
            return
        time.sleep(0.001)
        semaphore.release(number % 3)

    list(threads.map(request, range(2000)))
    assert refused.acquire(blocking=False)
    assert (semaphore.in_use, semaphore.waiting) == (0, 0)
    semaphore.acquire()
    semaphore.acquire()
    assert semaphore.in_use == 2


def test_semaphore_keeps_a_slot_for_another_tenant(threads: ThreadPoolExecutor) -> None:
    semaphore = FairSemaphore(3, 20, per_tenant=2)
    semaphore.acquire("big")
    semaphore.acquire("big")
    waiting = threads.submit(semaphore.acquire, "big")
    wait_until_waiting(semaphore, 1)
    semaphore.acquire("small")  # does not wait
    semaphore.release("small")
    assert (semaphore.in_use, semaphore.waiting) == (2, 1)
    semaphore.release("big")
    waiting.result(1)
    assert (semaphore.in_use, semaphore.waiting) == (2, 0)


def test_semaphore_gives_signed_in_users_every_second_turn(threads: ThreadPoolExecutor) -> None:
    semaphore, served = FairSemaphore(1, 20), []
    semaphore.acquire()

    def request(tenant: object) -> None:
        semaphore.acquire(tenant)
        served.append(tenant)
        semaphore.release(tenant)

    ada, bob = SignedIn(1), SignedIn(2)
    for number, tenant in enumerate(["a", "b", "c", "d", ada, ada, bob]):
        threads.submit(request, tenant)
        wait_until_waiting(semaphore, number + 1)
    semaphore.release()
    assert eventually(lambda: len(served) == 7)
    assert served == [ada, "a", bob, "b", ada, "c", "d"]


def test_semaphore_refuses_signed_in_users_last(threads: ThreadPoolExecutor) -> None:
    semaphore = FairSemaphore(1, 2)
    semaphore.acquire()
    waiting = [threads.submit(semaphore.acquire, SignedIn(1)) for _ in range(2)]
    wait_until_waiting(semaphore, 2)
    with pytest.raises(NoSlot):
        semaphore.acquire("a crowd")
    assert not any(each.done() for each in waiting)
    for tenant in (None, SignedIn(1), SignedIn(1)):
        semaphore.release(tenant)
        eventually(lambda: semaphore.in_use or not semaphore.waiting)
    assert (semaphore.in_use, semaphore.waiting, semaphore.refused) == (0, 0, 1)


def test_semaphore_waits_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "TIMEOUT", 60.0)
    semaphore = FairSemaphore(1, 20, timeout=0.05)
    semaphore.acquire()
    with pytest.raises(NoSlot):
        semaphore.acquire()


def test_hints_are_kept_until_there_is_one_credential_too_many() -> None:
    found: Hints[int] = Hints()
    for number in range(MOST_HINTS):
        found.set(str(number), number)
    found.set("0", 7)
    found.set("1", None)
    assert [found.get("0"), found.get("1"), found.get("2")] == [7, None, 2]
    found.set("new", 8)
    found.set("newer", 9)
    assert [found.get("0"), found.get("new"), found.get("newer")] == [None, None, 9]
