"""The rate limit: 300 requests a minute for each key; above it 429 with the seconds to wait."""

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches
from django.utils import timezone
from pytest_django import Settings
from redis import Redis

from apikeys import throttling
from apikeys.models import ApiKey
from apikeys.throttling import REQUESTS_PER_MINUTE, WINDOW
from config import cache
from tests.support.cast import counted, left, used_up, with_window
from tests.support.client import Response, forget_requests
from tests.support.factories import Tenant
from tests.support.proxy import HOST, Proxy, silent
from tests.support.server import Server, eventually


def is_429(response: Response) -> bool:
    """Whether it is one, after a look at all that a 429 has."""
    if response.status != 429:
        return False
    seconds = int(response.headers["retry-after"])
    assert 1 <= seconds <= WINDOW
    assert response.error == (
        f"Try again in {seconds} second{'' if seconds == 1 else 's'}: "
        "this key may make 300 requests a minute."
    )
    return True


def test_throttle_lets_300_requests_pass_and_the_next_is_429(acme: Tenant) -> None:
    acme = with_window(acme, 45)
    responses = [acme.get("/me") for _ in range(302)]
    assert [response.status for response in responses] == [200] * 300 + [429] * 2
    assert all(is_429(response) for response in responses[300:])
    remaining = [response.headers["x-ratelimit-remaining"] for response in responses]
    assert remaining == [str(left) for left in range(299, -1, -1)] + ["0", "0"]
    refused = responses[-1].headers
    assert refused["x-ratelimit-reset"] == refused["retry-after"]
    assert refused["ratelimit"] == f'"key";r=0;t={refused["retry-after"]}'


def test_throttle_counts_by_key_not_by_workspace_or_address(acme: Tenant, umbrella: Tenant) -> None:
    spent = used_up(acme)
    assert is_429(spent.get("/me"))
    assert is_429(spent.get("/me", x_forwarded_for="203.0.113.9"))
    assert acme.get("/me").status == 200
    assert umbrella.get("/me").status == 200


# One request each, with the status of its response.
REQUESTS: dict[str, tuple[int, Callable[[Tenant], Response]]] = {
    "me": (200, lambda t: t.get("/me")),
    "list": (200, lambda t: t.get("/documents")),
    "HEAD": (200, lambda t: t.get("/documents", method="HEAD")),
    "bad parameter": (400, lambda t: t.get("/documents?limit=0")),
    "unknown document": (404, lambda t: t.get(f"/documents/{uuid4()}")),
    "unknown download": (404, lambda t: t.get(f"/documents/{uuid4()}/download")),
    "bad type": (400, lambda t: t.get(f"/documents/{uuid4()}/download?type=x")),
    "malformed id": (404, lambda t: t.get("/documents/a/b")),
    "unknown path": (404, lambda t: t.get("/nothing")),
    "wrong method": (405, lambda t: t.get("/me", method="POST")),
}


def test_throttle_counts_a_403_and_a_402(frozen: Tenant, freebie: Tenant) -> None:
    for tenant, status in ((frozen, 403), (freebie, 402)):
        nearly = counted(tenant, REQUESTS_PER_MINUTE - 1)
        response = nearly.get("/me")
        assert (response.status, len(quota(response))) == (status, 5)
        assert is_429(nearly.get("/me"))


def test_throttle_does_not_count_a_401(acme: Tenant) -> None:
    acme = counted(acme, REQUESTS_PER_MINUTE - 1)
    ApiKey.objects.update(revoked_at=timezone.now())
    response = acme.get("/me")
    assert (response.status, quota(response)) == (401, {})
    ApiKey.objects.update(revoked_at=None)
    assert acme.get("/me").status == 200
    assert is_429(acme.get("/me"))


def test_throttle_says_at_least_one_second_when_the_window_has_just_ended(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = {"count": 301, "should_limit": True, "time_left": -1}
    monkeypatch.setattr(throttling, "get_usage", lambda *args, **options: usage)
    assert is_429(acme.get("/me"))


def concurrent(tenant: Tenant, servers: Sequence[Server]) -> list[Response]:
    """The responses to 1,000 concurrent requests with one key, to these servers in turn.

    All were counted in one window, and by Redis. On a busy machine the window may end in between,
    or Redis be too slow: then they are sent again, with another key.
    """

    def uncounted() -> int:
        return sum(server.log().count("Redis does not count") for server in servers)

    for _ in range(5):
        spent, before = with_window(tenant, 45), uncounted()
        end = int(time.time()) + left(spent.key.id)
        with ThreadPoolExecutor(48) as pool:
            futures = [
                pool.submit(servers[n % len(servers)].get, "/me", spent.raw) for n in range(1000)
            ]
            responses = [future.result() for future in futures]
        if abs(int(time.time()) + left(spent.key.id) - end) <= 1 and uncounted() == before:
            break
    return responses


def test_throttle_is_exact_in_four_processes(four_servers: list[Server], acme: Tenant) -> None:
    # First each thread connects to Redis. On a slow machine, so many connections at once take
    # longer than REDIS_TIMEOUT, after which a process counts for itself.
    for _ in range(2):
        concurrent(acme, four_servers)
    responses = concurrent(acme, four_servers)
    assert Counter(response.status for response in responses) == {200: 300, 429: 700}
    passed = Counter(n % 4 for n, response in enumerate(responses) if response.status == 200)
    assert len(passed) == 4
    assert all(is_429(response) for response in responses if response.status == 429)
    remaining = [r.headers["x-ratelimit-remaining"] for r in responses if r.status == 200]
    assert sorted(map(int, remaining)) == list(range(300))


@pytest.mark.parametrize("fault", ["refuse", "silence"])
def test_throttle_passes_and_logs_without_redis(server: Server, acme: Tenant, fault: str) -> None:
    acme = with_window(acme, 40)
    assert server.get("/me", acme.raw).status == 200
    getattr(server.counter, fault)()
    response = server.get("/me", acme.raw)
    assert response.status == 200
    warning = r"WARNING .*Redis does not count"
    assert eventually(lambda: re.search(warning, server.log_of(response))), server.log_of(response)


def quota(response: Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if "ratelimit" in name}


@pytest.mark.parametrize("asked", REQUESTS)
def test_throttle_counts_every_response_to_a_valid_key(acme: Tenant, asked: str) -> None:
    acme = counted(acme, 10)
    status, ask = REQUESTS[asked]
    response = ask(acme)
    assert response.status == status
    seconds = int(response.headers["x-ratelimit-reset"])
    assert abs(seconds - left(acme.key.id)) <= 1
    assert quota(response) == {
        "ratelimit-policy": '"key";q=300;w=60',
        "ratelimit": f'"key";r=289;t={seconds}',
        "x-ratelimit-limit": "300",
        "x-ratelimit-remaining": "289",
        "x-ratelimit-reset": str(seconds),
    }
    refused = ask(used_up(acme))
    assert refused.status == 429
    assert asked == "HEAD" or is_429(refused)


def test_counter_expires_after_its_window(acme: Tenant) -> None:
    redis, acme = Redis.from_url(os.environ["REDIS_URL"]), with_window(acme, 10)
    forget_requests()  # of keys that were tried
    acme.get("/me")
    [name] = redis.keys()
    assert WINDOW <= redis.ttl(name) <= 2 * WINDOW
    redis.expire(name, WINDOW // 2)
    acme.get("/me")
    assert redis.ttl(name) <= WINDOW // 2
    redis.delete(name)  # Redis has lost it: it counts anew, and still ends
    assert acme.get("/me").headers["x-ratelimit-remaining"] == "299"
    assert WINDOW <= redis.ttl(name) <= 2 * WINDOW


def test_counters_that_a_thread_remembers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "COUNTERS", 3)
    counters: Any = caches["counters"]
    for number in range(9):
        counters.add(f"{uuid4()}", number, WINDOW)
        assert len(counters._added) <= 3


def test_counter_uses_redis_again_when_its_kept_connection_has_died_and_else_counts_itself(
    settings: Settings,
) -> None:
    proxy, name = Proxy(settings.REDIS_URL), uuid4().hex
    settings.REDIS_URL = proxy.url
    cache._thread = threading.local()
    try:
        assert caches["counters"].add(name, 1, WINDOW)
        proxy.refuse()
        proxy.restore()
        assert caches["counters"].incr(name) == 2
        assert Redis.from_url(os.environ["REDIS_URL"]).get(name) == b"2"
        proxy.refuse()
        assert caches["counters"].incr(name) == 1  # this process counts, from the beginning
    finally:
        proxy.stop()
        cache._thread = threading.local()


@pytest.mark.parametrize("connects", [True, False])
def test_counter_waits_once_for_a_silent_redis_and_counts_itself(
    settings: Settings, connects: bool
) -> None:
    with silent(connects=connects) as port:
        settings.REDIS_URL = f"redis://{HOST}:{port}"
        settings.REDIS_TIMEOUT = 1
        cache._thread = threading.local()
        start, name, counters = time.monotonic(), uuid4().hex, caches["counters"]
        found = [counters.add(name, 1, WINDOW), counters.incr(name), counters.get(name)]
        assert found == [True, 2, 2]  # in this process: sign-ins are limited too
        assert 1 <= time.monotonic() - start < 2
        cache._thread = threading.local()
