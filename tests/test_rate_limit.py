"""The limit: 300 requests a minute for each key; above it 429 with the seconds to wait."""

import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import cast
from uuid import UUID, uuid4

import pytest
from django.core.cache import cache
from django.test import RequestFactory
from django.utils import timezone
from django_ratelimit.core import _get_window, get_usage
from redis import Redis
from rest_framework.views import APIView

from apikeys.models import ApiKey
from apikeys.throttling import KeyThrottle
from config.api.limits import REQUESTS_PER_MINUTE
from config.api.request import ApiRequest
from tests import factories
from tests.client import Response, get
from tests.factories import Tenant
from tests.server import Server, eventually

PERIOD = 60  # seconds


def left(key_id: UUID) -> int:
    """Seconds that the present window of a key lasts: each key's starts at another one."""
    return int(_get_window(str(key_id), PERIOD) - time.time())


def with_window(tenant: Tenant, least: int, most: int = PERIOD) -> Tenant:
    """The tenant with another key, whose present window lasts from `least` to `most` seconds."""
    id = next(id for id in iter(uuid4, None) if least <= left(id) <= most)
    key, raw = factories.issue(tenant.workspace, "Windowed", tenant.admin, id=id)
    return Tenant(tenant.workspace, tenant.admin, key, raw)


def counted(tenant: Tenant, requests: int, least: int = 40, most: int = PERIOD) -> Tenant:
    """The tenant with a key that has made so many requests in a window with time left.

    They are counted where the API counts them, without the rest of each request.
    """
    tenant = with_window(tenant, least, most)
    request = SimpleNamespace(auth=tenant.key, response_headers={})
    for _ in range(requests):
        KeyThrottle().allow_request(cast(ApiRequest, request), APIView())
    return tenant


def used_up(tenant: Tenant) -> Tenant:
    """The tenant with a key that has made its 300 requests."""
    return counted(tenant, REQUESTS_PER_MINUTE)


def is_429(response: Response) -> bool:
    """Whether it is one, after a look at all that a 429 has."""
    if response.status != 429:
        return False
    seconds = int(response.headers["retry-after"])
    assert 1 <= seconds <= PERIOD
    assert response.error == (
        "Too many requests: this key may make 300 a minute. "
        f"Try again in {seconds} second{'' if seconds == 1 else 's'}."
    )
    return True


def test_throttle_lets_300_requests_pass_and_the_next_is_429(acme: Tenant) -> None:
    acme = with_window(acme, 45)
    responses = [acme.get("/me") for _ in range(302)]
    assert [response.status for response in responses] == [200] * 300 + [429] * 2
    assert all(is_429(response) for response in responses[300:])


def test_throttle_counts_by_key_not_by_workspace_nor_by_address(
    acme: Tenant, umbrella: Tenant
) -> None:
    spent = used_up(acme)
    assert is_429(spent.get("/me"))
    assert is_429(spent.get("/me", x_forwarded_for="203.0.113.9"))
    assert acme.get("/me").status == 200
    assert umbrella.get("/me").status == 200


# One request each, with the status that it is answered with.
ANSWERS: dict[str, tuple[int, Callable[[Tenant], Response]]] = {
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


@pytest.mark.parametrize("asked", ANSWERS)
def test_throttle_counts_every_request_whatever_the_response(acme: Tenant, asked: str) -> None:
    acme = counted(acme, REQUESTS_PER_MINUTE - 1)
    status, ask = ANSWERS[asked]
    assert ask(acme).status == status
    assert is_429(acme.get("/me"))


@pytest.mark.parametrize("asked", ANSWERS)
def test_throttle_responds_429_to_every_request_above_the_limit(acme: Tenant, asked: str) -> None:
    spent = used_up(acme)
    _, ask = ANSWERS[asked]
    response = ask(spent)
    assert response.status == 429
    assert asked == "HEAD" or is_429(response)


def test_throttle_counts_requests_refused_with_403_and_402(frozen: Tenant, freebie: Tenant) -> None:
    for tenant, status in ((frozen, 403), (freebie, 402)):
        nearly = counted(tenant, REQUESTS_PER_MINUTE - 1)
        assert nearly.get("/me").status == status
        assert is_429(nearly.get("/me"))


def test_throttle_does_not_count_a_401(acme: Tenant) -> None:
    acme = counted(acme, REQUESTS_PER_MINUTE - 1)
    ApiKey.objects.update(revoked_at=timezone.now())
    assert acme.get("/me").status == 401
    ApiKey.objects.update(revoked_at=None)
    assert acme.get("/me").status == 200
    assert is_429(acme.get("/me"))


def test_throttle_never_responds_429_to_an_unknown_key(acme: Tenant) -> None:
    unknown = "Bearer dtd_" + "0" * 40
    responses = {get("/api/v1/me", unknown).status for _ in range(REQUESTS_PER_MINUTE + 1)}
    assert responses == {401}


def test_throttle_lets_pass_who_waits_as_long_as_the_response_says(acme: Tenant) -> None:
    response = None
    while response is None or not is_429(response):  # a slow machine may need another window
        spent = counted(acme, REQUESTS_PER_MINUTE, least=2, most=4)
        response = spent.get("/me")
    time.sleep(int(response.headers["retry-after"]))
    assert spent.get("/me").status == 200


def test_throttle_lets_exactly_300_of_1000_concurrent_requests_to_four_processes_pass(
    four_servers: list[Server], acme: Tenant
) -> None:
    responses: list[Response] = []
    in_one_window = False
    while not in_one_window or not all(map(quota, responses)):
        # Again: on a busy machine the window may end in between, or the counter may respond too
        # late, and such a request passes.
        spent = with_window(acme, 45)
        end = _get_window(str(spent.key.id), PERIOD)
        with ThreadPoolExecutor(48) as pool:
            futures = [pool.submit(four_servers[n % 4].get, "/me", spent.raw) for n in range(1000)]
            responses = [future.result() for future in futures]
        in_one_window = _get_window(str(spent.key.id), PERIOD) == end
    assert Counter(response.status for response in responses) == {200: 300, 429: 700}
    passed = Counter(n % 4 for n, response in enumerate(responses) if response.status == 200)
    assert len(passed) == 4
    assert all(is_429(response) for response in responses if response.status == 429)
    said = [
        response.headers["x-ratelimit-remaining"]
        for response in responses
        if response.status == 200
    ]
    assert sorted(map(int, said)) == list(range(300))


@pytest.mark.parametrize("way", ["refuse", "silence"])
def test_throttle_lets_requests_pass_without_the_counter_and_logs_it(
    server: Server, acme: Tenant, way: str
) -> None:
    acme = with_window(acme, 40)
    assert server.get("/me", acme.raw).status == 200
    getattr(server.counter, way)()
    response = server.get("/me", acme.raw)
    assert response.status == 200
    warned = eventually(lambda: "counter is out of reach" in server.log_of(response))
    assert warned, server.log_of(response)


def test_throttle_counts_again_when_the_counter_is_back(server: Server, acme: Tenant) -> None:
    acme = used_up(acme)
    assert is_429(server.get("/me", acme.raw))
    server.counter.refuse()
    assert server.get("/me", acme.raw).status == 200
    server.counter.restore()
    assert eventually(lambda: is_429(server.get("/me", acme.raw)))


def quota(response: Response) -> dict[str, str]:
    """What a response says of the limit."""
    return {name: value for name, value in response.headers.items() if "ratelimit" in name}


@pytest.mark.parametrize("asked", ANSWERS)
def test_throttle_headers_are_in_every_response_to_a_valid_key(acme: Tenant, asked: str) -> None:
    acme = counted(acme, 10)
    status, ask = ANSWERS[asked]
    most = left(acme.key.id) + 2  # both ends of the window are rounded up
    response = ask(acme)
    assert response.status == status
    seconds = int(response.headers["x-ratelimit-reset"])
    assert left(acme.key.id) < seconds <= most
    assert quota(response) == {
        "ratelimit-policy": '"key";q=300;w=60',
        "ratelimit": f'"key";r=289;t={seconds}',
        "x-ratelimit-limit": "300",
        "x-ratelimit-remaining": "289",
        "x-ratelimit-reset": str(seconds),
    }


def test_throttle_headers_go_down_to_nothing_and_a_429_says_the_same(acme: Tenant) -> None:
    acme = counted(acme, REQUESTS_PER_MINUTE - 2)
    responses = [acme.get("/me") for _ in range(4)]
    assert [response.status for response in responses] == [200, 200, 429, 429]
    assert [response.headers["x-ratelimit-remaining"] for response in responses] == [
        "1",
        "0",
        "0",
        "0",
    ]
    refused = responses[-1]
    assert refused.headers["x-ratelimit-reset"] == refused.headers["retry-after"]
    assert refused.headers["ratelimit"] == f'"key";r=0;t={refused.headers["retry-after"]}'


def test_throttle_headers_are_in_402_and_403_and_not_in_401(
    frozen: Tenant, freebie: Tenant
) -> None:
    for tenant, status in ((frozen, 403), (freebie, 402)):
        response = tenant.get("/me")
        assert response.status == status
        assert len(quota(response)) == 5
    assert quota(get("/api/v1/me", "Bearer dtd_" + "0" * 40)) == {}


def test_throttle_headers_are_absent_without_the_counter(server: Server, acme: Tenant) -> None:
    server.counter.refuse()
    response = server.get("/me", acme.raw)
    assert response.status == 200
    assert quota(response) == {}


def test_throttle_needs_one_round_trip_to_the_counter(server: Server, acme: Tenant) -> None:
    replies = []

    def count(block: bytes) -> bytes:
        replies.append(block)
        return block

    acme = with_window(acme, 45)
    server.get("/me", acme.raw)  # connects
    server.counter.alter = count
    for _ in range(20):
        assert server.get("/me", acme.raw).status == 200
    assert len(replies) == 20


def test_throttle_counter_is_kept_as_long_as_its_window_whoever_asks(acme: Tenant) -> None:
    redis = Redis.from_url(os.environ["REDIS_URL"])
    for window in (10, 60, 900):
        cache.clear()
        request = RequestFactory().get("/")
        get_usage(request, group="test", key=lambda *_: "x", rate=f"5/{window}s", increment=True)
        [name] = redis.keys()
        assert window <= redis.ttl(name) <= window + 10
