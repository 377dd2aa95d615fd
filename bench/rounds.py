"""All that is measured, in rounds. Before that, all variants must respond alike."""

import asyncio
import contextlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from os.path import commonprefix
from typing import NamedTuple
from urllib.parse import urlencode

import psutil
import uvloop

from bench import log, traffic
from bench.client import Client, Request, counts
from bench.loading import SEARCHES, Scale, workspaces
from bench.peers import REQUESTS_PER_MINUTE
from bench.servers import NGINX, OURS, Server, Variant, nginx_alone, serving
from bench.stack import Stack
from bench.traffic import DOWNLOAD, ENDPOINTS, LIST25, ME, PATHS, Disagreement, Target

CONNECTIONS = 32  # so many that every worker has some for each of its threads
FEWEST = 3  # responses that a measurement has at least, however long it takes
PAGE, SMALL, DEEP = "page 1", "page 1 of a small workspace", "a page in the middle"
LARGE_FILE = "a download of 1 MB"  # the newest document of the large workspace
SMALL_ME, LARGE_ME = "/me of a small workspace", "/me of the large workspace"
# One condition each.
OFTEN = ("no parameter", "word in 200,000", "recipient in 6", "status in 36")
# The processor time of server and database as a multiple of another case's, at most.
GROWTH = {
    **dict.fromkeys((SMALL, DEEP, "status=DECLINED", "status=CANCELLED"), (PAGE, 1.2)),
    **{f"search?{SEARCHES[name]}": (PAGE, 3.0) for name in OFTEN},
    LARGE_ME: (SMALL_ME, 1.3),
}


class Measurement(NamedTuple):
    """Milliseconds of processor time a request of each part, and requests a second."""

    server: float
    database: float
    redis: float
    rate: float


# endpoint or case → variant → one for each round
Costs = dict[str, dict[str, list[Measurement]]]
Learned = dict[str, dict[str, list[Target]]]


def _spent(root: int) -> float:
    """Seconds of processor time of a tree of processes, with those that have ended."""
    total, process = 0.0, psutil.Process(root)
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            total += sum(each.cpu_times()[:4])
    return total


async def _measure(
    stack: Stack, server: Server, requests: Iterator[Request], seconds: float
) -> Measurement:
    roots = [each.pid for each in (server.process, stack.postgres.process, stack.redis.process)]
    client = Client(server.port)
    # A warm-up: the connections are opened meanwhile.
    await client.saturate(requests, CONNECTIONS, seconds / 2)
    before, already = [*map(_spent, roots), time.monotonic()], len(client.outcomes)
    while len(client.outcomes) < already + FEWEST:
        await asyncio.sleep(seconds)
    after, done = [*map(_spent, roots), time.monotonic()], len(client.outcomes) - already
    await client.close()
    if not all(outcome.right for outcome in client.outcomes):
        raise Disagreement(f"{server.title}: {counts(client.outcomes)}")
    *parts, took = (b - a for a, b in zip(before, after, strict=True))
    return Measurement._make([*(1000 * part / done for part in parts), done / took])


def measure(stack: Stack, server: Server, targets: list[Target], seconds: float) -> Measurement:
    """A closed loop; raises Disagreement if not all responses are right."""
    stack.prepare()
    return uvloop.run(_measure(stack, server, traffic.endless(targets), seconds))


def measure_all(stack: Stack, scale: Scale, variants: Mapping[str, Variant]) -> Costs:
    """Measures everything; each round has new processes, so that their start is in the spread."""
    costs: Costs = defaultdict(lambda: defaultdict(list))
    learned: Learned = {}
    for number in range(scale.rounds):
        alone = nginx_alone(stack.folder, f"{scale.name}/1")
        with serving(variants, stack.folder) as servers, alone as nginx:
            learned = learned or _learn(stack, scale, servers)
            log(f"round {number + 1} of {scale.rounds}")
            for name, server in servers.items():
                for endpoint in ENDPOINTS:  # its processes become warm
                    measure(stack, server, learned[endpoint][name], scale.seconds / 4)
            servers[NGINX] = nginx
            for turn, case in enumerate(learned, number):
                names = list(learned[case])
                first = turn % len(names)  # another one begins each time
                for name in names[first:] + names[:first]:
                    found = measure(stack, servers[name], learned[case][name], scale.seconds)
                    log(f"  {case}, {name}: {found.server:.2f} ms, {found.rate:.0f}/s")
                    costs[case][name].append(found)
    return costs


def _learn(stack: Stack, scale: Scale, servers: Mapping[str, Server]) -> Learned:
    """The targets of each endpoint or case and variant, with the right bodies.

    Raises Disagreement if the variants do not respond alike, or do not all refuse bad keys.
    """
    large, *small = workspaces(scale)
    found: Learned = defaultdict(lambda: defaultdict(list))
    for endpoint in ENDPOINTS:
        log(f"comparing responses: {endpoint}")
        stack.prepare()
        for workspace in small:
            _agree(servers, traffic.target(endpoint, workspace), found[endpoint])
    raw = small[-1].keys[-1].raw
    for name, server in servers.items():
        # Variants share a limit or have one each; its window may end meanwhile.
        pending = (
            traffic.get(server.client, PATHS[ME], raw) for _ in range(2 * REQUESTS_PER_MINUTE)
        )
        if 429 not in (response.status_code for response in pending):
            raise Disagreement(f"{name} has no rate limit")
        if traffic.get(server.client, PATHS[ME], f"{raw}_").status_code != 401:
            raise Disagreement(f"{name} accepts a key that does not exist")
    stack.prepare()
    client, cursor = servers[OURS].client, ""
    log("paging through half of the documents")
    for number in range(large.documents // 200):
        page = traffic.body(client, large, f"/api/v1/documents?limit=100{cursor}", number)
        cursor = f"&{urlencode({'cursor': json.loads(page)['nextCursor']})}"
    paths = {PAGE: PATHS[LIST25], SMALL: PATHS[LIST25], DEEP: PATHS[LIST25] + cursor}
    paths |= {case: f"{PATHS[LIST25]}&{case}" for case in GROWTH if case.startswith("status=")}
    paths |= {case: f"/api/v1/{case}" for case in GROWTH if case.startswith("search?")}
    paths |= {SMALL_ME: PATHS[ME], LARGE_ME: PATHS[ME]}
    paths[LARGE_FILE] = traffic.target(DOWNLOAD, large).path
    for case, path in paths.items():
        where = small if case in (SMALL, SMALL_ME) else [large]
        found[case][OURS] = [
            Target("", each, path, traffic.body(client, each, path)) for each in where
        ]
    found[LARGE_FILE][NGINX] = found[LARGE_FILE][OURS]
    return found


def _comparable(text: bytes) -> str:
    """JSON whose fields, their order and values are to be equal; cursors may differ."""
    return re.sub(r'"nextCursor": ".*"', "a cursor", json.dumps(json.loads(text)))


def _agree(servers: Mapping[str, Server], each: Target, found: dict[str, list[Target]]) -> None:
    """Adds the target with the body of each variant; raises Disagreement if one is different."""
    bodies = {n: traffic.body(s.client, each.workspace, each.path) for n, s in servers.items()}
    expected = _comparable(bodies[OURS])
    for name, body in bodies.items():
        if (other := _comparable(body)) != expected:
            equal = len(commonprefix([expected, other]))
            raise Disagreement(f"{name}, {each.path}: {other[max(0, equal - 50) : equal + 50]}")
        found[name].append(each._replace(body=body))
