"""The benchmark's judgement: which responses are right, what is counted, when a target holds."""

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from bench import agreement, measuring, report
from bench.client import Client, Exchange, WrongResponse
from bench.measuring import Measurement

REQUEST = b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = b'{"data":1}'


def test_comparable_differs_when_any_field_does() -> None:
    def comparable(value: object) -> str:
        return agreement.comparable(json.dumps(value).encode())

    one = {"data": [{"id": "a", "sentAt": None, "order": 1}], "nextCursor": "x"}
    assert comparable({**one, "nextCursor": "y"}) == comparable(one)
    for other in (
        {**one, "nextCursor": None},
        {**one, "data": []},
        {**one, "data": [{"id": "b", "sentAt": None, "order": 1}]},
        {**one, "data": [{"id": "a", "order": 1, "sentAt": None}]},
        {**one, "data": [{"id": "a", "sentAt": "", "order": 1}]},
        {**one, "data": [{"id": "a", "sentAt": None, "order": True}]},
    ):
        assert comparable(other) != comparable(one), other


@pytest.fixture
def port() -> Iterator[int]:
    """A server that responds to each request with BODY, in two pieces."""

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


def test_client_never_counts_a_response_with_another_body(port: int) -> None:
    with closing(Client(port, itertools.repeat(Exchange(REQUEST, BODY)))) as load:
        load.warm_up(2, 0.01)
        assert load.saturate(0.05) > 0
        load.drain()
    with (
        closing(Client(port, itertools.repeat(Exchange(REQUEST, b'{"data":2}')))) as load,
        pytest.raises(WrongResponse),
    ):
        load.warm_up(1, 1)


def test_client_at_rate_returns_the_latency_of_each_request_that_was_due(port: int) -> None:
    with closing(Client(port, itertools.repeat(Exchange(REQUEST, BODY)))) as load:
        load.warm_up(2, 0.01)
        took = load.at_rate(200, 0.2)
    assert len(took) == 40
    assert all(seconds >= 0 for seconds in took)


def test_spent_includes_children_that_have_ended() -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    before = measuring.spent(os.getpid())
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert measuring.spent(os.getpid()) - before >= 0.2 - 2 * measuring.TICK


def served(*rates: int) -> list[Measurement]:
    """Rounds of one second with so many requests, a millisecond of server and database each."""
    return [Measurement(n, 1, n / 1000, n / 1000, 0, 0) for n in rates]


def test_against_is_undecided_where_the_interval_straddles_the_target() -> None:
    peer = served(100, 100, 100)
    for rates, found in (
        ((110, 100, 101), "holds"),
        ((150, 99, 160), "undecided"),
        ((50, 98, 99), "**fails**"),
    ):
        results = {("list25", "ours"): served(*rates), ("list25", "starlette"): peer}
        assert report.against(results, "list25", "starlette")[-1] == found
        [_, _, row, _] = report.comparison(results)
        assert f"| {found} |" in row


def test_against_compares_each_round_with_the_same_round_of_the_peer() -> None:
    # The machine was twice as slow in the second round, for both.
    results = {("me", "ours"): served(200, 100), ("me", "drf"): served(20, 10)}
    assert report.against(results, "me", "drf")[1] == "10.0"


def test_at_most_holds_up_to_the_limit() -> None:
    assert report.at_most("lists", 1.2, 1.2) == ["lists", "≤ 1.2", "1.20", "holds"]
    assert report.at_most("lists", 1.21, 1.2) == ["lists", "≤ 1.2", "1.21", "**fails**"]
    assert report.at_least("bulk", 0.6, 0.6) == ["bulk", "≥ 0.6", "0.60", "holds"]
    assert report.at_least("bulk", 0.59, 0.6) == ["bulk", "≥ 0.6", "0.59", "**fails**"]


def test_growth_is_decided_by_the_most_expensive_case() -> None:
    steady, me = served(100), {"few": served(100), "many": served(100)}
    for cost, found in ((1.2, "holds"), (1.21, "**fails**")):
        one = [Measurement(100, 1, 0.1 * cost, 0.1 * cost, 0, 0)]
        rows = report.growth({"a": steady, "b": one, "c": steady}, me)
        assert [row.split(" | ")[-1].rstrip(" |") for row in rows[2:4]] == [found, "holds"]
