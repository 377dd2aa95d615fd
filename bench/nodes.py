"""One node and two: what a second machine adds, and what the machines share.

A node is an instance of the service in production's server. nginx balances over the nodes; they
share PostgreSQL, through PgBouncer, and Redis. Here everything shares one machine, so that a
second node cannot double the requests a second of the whole. Two things are measured instead: the
processor time that each part spends on a request, at one rate for both; and the requests a second
of nodes that may each use a small part of a core, so that the nodes are the limit.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from bench import log
from bench.agreement import learn
from bench.client import Client
from bench.comparison import AMONG, FIXED_RATE, Results
from bench.loading.identity import Workspace
from bench.quota import NoLimits, limited
from bench.report import TARGETS, at_least, at_most, spread, table
from bench.scale import Scale
from bench.site import COUNTS, PARTS, SHARED, Case, serving
from bench.stack import Stack
from bench.traffic import ENDPOINTS, targets

PROGRAMS = {"nginx": "nginx-light", "pgbouncer": "pgbouncer"}  # and their packages in Debian
RATE = 200  # requests a second at which the costs are compared: one node has time left
CORES = 0.25  # that a node may use while the nodes are to be the limit
COSTS = ("server", "database", "redis")  # parts of a `Measurement`
# Two nodes against one:
SERVED = 1.8  # times the requests a second at least
NODE_COST, SHARED_COST = 1.05, 1.1  # times the processor time a request at most


@dataclass
class Nodes:
    """For each number of nodes, the rounds.

    Attributes:
        missing: why something was not measured; sentences.
    """

    at_rate: dict[int, list[Case]] = field(default_factory=lambda: {n: [] for n in COUNTS})
    limited: dict[int, list[Case]] = field(default_factory=lambda: {n: [] for n in COUNTS})
    missing: list[str] = field(default_factory=list)


def measure(stack: Stack, database: str, scale: Scale, workspaces: Sequence[Workspace]) -> Nodes:
    """One node and two, in turn: at one rate, and with little processor time."""

    def at_rate(client: Client) -> int:
        return len(client.at_rate(RATE, 2 * scale.seconds))

    def saturate(client: Client) -> int:
        return client.saturate(2 * scale.seconds)

    found = Nodes()
    for program, package in PROGRAMS.items():
        # Debian installs them where only root's PATH leads.
        if not (shutil.which(program) or shutil.which(program, path="/usr/sbin")):
            found.missing.append(f"{program} is not installed (Debian: {package}).")
    if found.missing:
        return found
    with serving(stack, database) as site:
        with stack.connect(database) as connection:
            wanted = targets(connection, ENDPOINTS[FIXED_RATE], workspaces[:AMONG])
        responses = learn({"node": site.fronts[1]}, wanted)["node"]
        for number in range(1, scale.rounds + 1):
            log(f"nodes, round {number} of {scale.rounds}")
            for count in COUNTS:
                stack.prepare(database)
                case = site.measure(count, responses, scale, at_rate)
                found.at_rate[count].append(case)
            for count in COUNTS if not found.missing else ():
                stack.prepare(database)
                try:
                    with ExitStack() as limits:
                        for node in site.nodes[:count]:
                            limits.enter_context(limited(node, CORES))
                        case = site.measure(count, responses, scale, saturate)
                except NoLimits as error:
                    found.missing.append(f"This machine sets no limits for processes: {error}.")
                    break
                found.limited[count].append(case)
    return found


def _times(cases: dict[int, list[Case]], value: Callable[[Case], float]) -> float:
    """A value of two nodes as a multiple of one node's in the same round: machines vary."""
    pairs = zip(cases[2], cases[1], strict=True)
    return median(value(two) / value(one) for two, one in pairs)


def capacity(results: Results) -> list[str]:
    """What one core carries of each endpoint, by what each part spends."""
    rows = []
    for (endpoint, variant), rounds in results.items():
        if variant == "ours":
            costs = ([getattr(m, part) / m.requests for m in rounds] for part in COSTS)
            rates = [f"{1 / median(cost):,.0f}" if all(cost) else "many" for cost in costs]
            rows.append([ENDPOINTS[endpoint].title, *rates])
    return table(("endpoint", "a core of a node", "of PostgreSQL", "of Redis"), rows)


def lines(found: Nodes) -> list[str]:
    """The targets, and what each part spends."""
    verdicts, rows = [], []
    if found.limited[2]:
        times = _times(found.limited, lambda case: case.rate)
        verdicts.append(at_least(f"requests/s, {CORES:g} of a core for each node", times, SERVED))
    if found.at_rate[2]:
        times = _times(found.at_rate, lambda case: case.ms("nodes"))
        verdicts.append(at_most("processor time of the nodes", times, NODE_COST))
        times = _times(found.at_rate, lambda case: case.ms(*SHARED))
        verdicts.append(at_most(f"processor time of {', '.join(SHARED)}", times, SHARED_COST))
    for title, cases in (
        (f"at {RATE} requests/s", found.at_rate),
        (f"{CORES:g} of a core for each node", found.limited),
    ):
        for count, rounds in cases.items():
            if rounds:
                costs = (spread([case.ms(part) for case in rounds]) for part in PARTS)
                rate = spread([case.rate for case in rounds], 0)
                rows.append([title, str(count), rate, *costs])
    head = ("", "nodes", "requests/s", *(f"{part}, ms" for part in PARTS))
    missing = [f"Not measured: {' '.join(found.missing)}", ""] if found.missing else []
    return [*missing, *table(TARGETS, verdicts), *table(head, rows)]
