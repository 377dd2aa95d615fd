"""The benchmark's own judgement: what it takes for a right answer, and what it counts."""

import itertools
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from bench import agreement, processor, report, targets
from bench.client import client
from bench.connection import Exchange, WrongAnswer
from bench.measuring import Measurement

REQUEST = b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = b'{"data":1}'


def test_answers_that_differ_in_any_field_do_not_agree() -> None:
    one = {"data": [{"id": "a", "sentAt": None, "order": 1}], "nextCursor": "x"}
    assert agreement.differences(one, {**one, "nextCursor": "y"}) == []
    for other in (
        {**one, "nextCursor": None},
        {**one, "data": []},
        {**one, "data": [{"id": "b", "sentAt": None, "order": 1}]},
        {**one, "data": [{"id": "a", "order": 1, "sentAt": None}]},
        {**one, "data": [{"id": "a", "sentAt": "", "order": 1}]},
        {**one, "data": [{"id": "a", "sentAt": None, "order": True}]},
    ):
        assert agreement.differences(one, other), other


@pytest.fixture
def port() -> Iterator[int]:
    """A server that answers each request with BODY, in two pieces."""

    def serve(connection: socket.socket) -> None:
        with connection:
            while connection.recv(4096):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + BODY[:4])
                connection.sendall(BODY[4:])

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,)).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()


def test_an_answer_with_another_body_is_never_counted(port: int) -> None:
    with client(port, itertools.repeat(Exchange(REQUEST, BODY))) as load:
        load.warm_up(2, 0.01)
        assert load.saturate(0.05) > 0
        load.drain()
    with (
        client(port, itertools.repeat(Exchange(REQUEST, b'{"data":2}'))) as load,
        pytest.raises(WrongAnswer),
    ):
        load.warm_up(1, 1)


def test_an_open_loop_counts_the_waiting_of_requests_that_were_due(port: int) -> None:
    with client(port, itertools.repeat(Exchange(REQUEST, BODY))) as load:
        load.warm_up(2, 0.01)
        took = load.at_rate(200, 0.2)
    assert len(took) == 40
    assert all(seconds >= 0 for seconds in took)


def test_processor_time_of_a_tree_keeps_that_of_children_that_ended() -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    before = processor.spent(os.getpid())
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert processor.spent(os.getpid()) - before >= 0.2 - 2 * processor.TICK


def served(*rates: int) -> list[Measurement]:
    """Rounds of one second with so many requests, a millisecond of server and database each."""
    return [Measurement(n, 1, n / 1000, n / 1000, 0, 0) for n in rates]


def test_a_target_holds_when_the_median_of_the_rounds_reaches_it() -> None:
    peer = served(100, 100, 100)
    for rates, holds in (((150, 139, 141), True), ((200, 139, 138), False)):
        results = {("list25", "ours"): served(*rates), ("list25", "fastapi"): peer}
        assert targets.against(results, "list25", "fastapi").holds == holds
        [_, _, row, _] = report.comparison(results)
        assert ("| holds |" in row) == holds
        assert ("| **fails** |" in row) != holds


def test_rounds_are_compared_with_the_same_round_of_the_other() -> None:
    # The machine was twice as slow in the second round, for both.
    results = {("me", "ours"): served(200, 100), ("me", "drf"): served(20, 10)}
    assert targets.against(results, "me", "drf").measured == "10.0 (10.0 to 10.0)"


def test_the_dearest_case_decides_whether_a_cost_grows() -> None:
    assert targets.at_most("lists", [1.0, 1.2], 1.0, 1.2).holds
    assert not targets.at_most("lists", [1.0, 1.21], 1.0, 1.2).holds
