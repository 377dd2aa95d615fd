"""Slots: how many requests run, how long the others wait, and in which order they go on."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from config import slots
from config.slots import Gate, NoSlot, SignedIn
from tests.support.server import eventually


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as executor:
        yield executor


def wait_until_waiting(gate: Gate, count: int) -> None:
    assert eventually(lambda: gate.waiting == count)


def test_gate_lets_as_many_run_as_it_has_slots(threads: ThreadPoolExecutor) -> None:
    gate, running, most = Gate(3, 20), [], []

    def request(_: int) -> None:
        gate.enter()
        running.append(1)
        most.append(len(running))
        time.sleep(0.005)
        running.pop()
        gate.leave()

    list(threads.map(request, range(60)))
    assert max(most) == 3
    assert (gate.in_use, gate.waiting, gate.refused) == (0, 0, 0)


def test_gate_serves_tenants_in_turn_and_each_tenant_in_order(threads: ThreadPoolExecutor) -> None:
    gate, served = Gate(1, 20), []
    gate.enter()

    def request(tenant: str, number: int) -> None:
        gate.enter(tenant)
        served.append(f"{tenant}{number}")
        gate.leave(tenant)

    for number, tenant in enumerate(["big", "big", "big", "big", "small", "other"]):
        threads.submit(request, tenant, number)
        wait_until_waiting(gate, number + 1)
    gate.leave()
    assert eventually(lambda: len(served) == 6)
    assert served == ["big0", "small4", "other5", "big1", "big2", "big3"]


def test_gate_refuses_what_has_waited_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "PATIENCE", 0.05)
    gate = Gate(1, 20)
    gate.enter()
    with pytest.raises(NoSlot):
        gate.enter("late")
    assert (gate.in_use, gate.waiting, gate.refused) == (1, 0, 1)
    gate.leave()
    gate.enter("late")
    assert gate.in_use == 1


def test_gate_refuses_at_once_when_too_many_wait(threads: ThreadPoolExecutor) -> None:
    gate = Gate(1, 2)
    gate.enter()
    for number in range(2):
        threads.submit(gate.enter)
        wait_until_waiting(gate, number + 1)
    with pytest.raises(NoSlot):
        gate.enter()
    assert (gate.waiting, gate.refused) == (2, 1)
    for _ in range(3):
        gate.leave()
    assert (gate.in_use, gate.waiting) == (0, 0)


def test_gate_refuses_the_tenant_that_has_most_waiting(threads: ThreadPoolExecutor) -> None:
    gate, refused = Gate(1, 3), []
    gate.enter()

    def request(tenant: str, number: int) -> None:
        try:
            gate.enter(tenant)
        except NoSlot:
            refused.append(number)
        else:
            gate.leave(tenant)

    for number in range(3):
        threads.submit(request, "big", number)
        wait_until_waiting(gate, number + 1)
    threads.submit(request, "small", 3)
    assert eventually(lambda: refused == [2])
    gate.leave()
    assert eventually(lambda: gate.in_use == 0)
    assert (gate.waiting, gate.refused, refused) == (0, 1, [2])


def test_gate_loses_no_slot_when_requests_give_up_while_others_leave(
    monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
) -> None:
    monkeypatch.setattr(slots, "PATIENCE", 0.002)
    gate, refused = Gate(2, 20), threading.Semaphore(0)

    def request(number: int) -> None:
        try:
            gate.enter(number % 3)
        except NoSlot:
            refused.release()
            return
        time.sleep(0.001)
        gate.leave(number % 3)

    list(threads.map(request, range(2000)))
    assert refused.acquire(blocking=False)
    assert (gate.in_use, gate.waiting) == (0, 0)
    gate.enter()
    gate.enter()
    assert gate.in_use == 2


def test_gate_keeps_a_slot_for_another_tenant(threads: ThreadPoolExecutor) -> None:
    gate = Gate(3, 20, share=2)
    gate.enter("big")
    gate.enter("big")
    waiting = threads.submit(gate.enter, "big")
    wait_until_waiting(gate, 1)
    gate.enter("small")  # does not wait
    gate.leave("small")
    assert (gate.in_use, gate.waiting) == (2, 1)
    gate.leave("big")
    waiting.result(1)
    assert (gate.in_use, gate.waiting) == (2, 0)


def test_gate_gives_signed_in_users_every_second_turn(threads: ThreadPoolExecutor) -> None:
    gate, served = Gate(1, 20), []
    gate.enter()

    def request(tenant: object) -> None:
        gate.enter(tenant)
        served.append(tenant)
        gate.leave(tenant)

    ada, bob = SignedIn(1), SignedIn(2)
    for number, tenant in enumerate(["a", "b", "c", "d", ada, ada, bob]):
        threads.submit(request, tenant)
        wait_until_waiting(gate, number + 1)
    gate.leave()
    assert eventually(lambda: len(served) == 7)
    assert served == [ada, "a", bob, "b", ada, "c", "d"]


def test_gate_refuses_signed_in_users_last(threads: ThreadPoolExecutor) -> None:
    gate = Gate(1, 2)
    gate.enter()
    waiting = [threads.submit(gate.enter, SignedIn(1)) for _ in range(2)]
    wait_until_waiting(gate, 2)
    with pytest.raises(NoSlot):
        gate.enter("a crowd")
    assert not any(each.done() for each in waiting)
    for tenant in (None, SignedIn(1), SignedIn(1)):
        gate.leave(tenant)
        eventually(lambda: gate.in_use or not gate.waiting)
    assert (gate.in_use, gate.waiting, gate.refused) == (0, 0, 1)


def test_gate_waits_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "PATIENCE", 60.0)
    gate = Gate(1, 20, patience=0.05)
    gate.enter()
    with pytest.raises(NoSlot):
        gate.enter()
