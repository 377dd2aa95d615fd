"""The benchmark's judgement: which responses are right, and when a target holds."""

import asyncio
import hashlib
import itertools
import json

from bench import agreement, report
from bench.client import Client, Outcome, Request, counts
from bench.measuring import Measurement

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


def test_client_compares_each_body_and_names_what_is_no_response() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Responds in two pieces; closes the connection on a request for /close."""
        while head := await reader.readuntil(b"\r\n\r\n"):
            if b"/close" in head:
                break
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + BODY[:4])
            await writer.drain()
            writer.write(BODY[4:])
        writer.close()

    async def go() -> list[Outcome]:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            outcomes: list[Outcome] = []
            client = Client(server.sockets[0].getsockname()[1])
            right, wrong = (hashlib.sha256(each).hexdigest() for each in (BODY, b'{"data":2}'))
            for path, sha256 in (("/me", right), ("/me", wrong), ("/close", right)):
                wire = f"GET {path} HTTP/1.1\r\n\r\n".encode()
                requests = itertools.repeat(Request("me", wire, sha256))
                await client.at_rate(requests, 200, outcomes.append, 0.1)
            await client.close()
        return outcomes

    assert counts(asyncio.run(go())) == "200 × 20, closed × 20, wrong body × 20"


def served(*rates: int, cost: float = 1) -> list[Measurement]:
    """Rounds of a second with so many requests, so many milliseconds of server and database."""
    return [Measurement(n, 1, cost * n / 1000, cost * n / 1000, 0, 0) for n in rates]


def test_against_is_undecided_where_the_interval_straddles_the_target() -> None:
    peer = served(100, 100, 100)
    for rates, found in (
        ((110, 100, 101), "holds"),
        ((150, 99, 160), "undecided"),
        ((50, 98, 99), "**fails**"),
    ):
        results = {("list25", "ours"): served(*rates), ("list25", "starlette"): peer}
        assert report.against(results, "list25", "starlette")[-1] == found


def test_against_compares_each_round_with_the_same_round_of_the_peer() -> None:
    # The machine was twice as slow in the second round, for both.
    results = {("me", "ours"): served(200, 100), ("me", "drf"): served(20, 10)}
    assert report.against(results, "me", "drf")[1] == "10.0"


def test_growth_is_decided_by_the_most_expensive_case() -> None:
    steady, me = served(100), {"few": served(100), "many": served(100)}
    for cost, found in ((1.2, "holds"), (1.21, "**fails**")):
        rows = report.growth({"a": steady, "b": served(100, cost=cost), "c": steady}, me)
        assert [row.split(" | ")[-1].rstrip(" |") for row in rows[2:4]] == [found, "holds"]
