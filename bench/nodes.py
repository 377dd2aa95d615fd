"""One node and two: what a second machine adds, and what the machines share.

A node is an instance of the service in production's server. nginx balances over the nodes; they
share PostgreSQL, through PgBouncer, and Redis. Here everything shares one machine, which a second
node does not make faster. So each node may use only a small part of a core: then the nodes are the
limit, as they are where each has a machine. All processor time is measured too.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from bench import log
from bench.agreement import learn
from bench.comparison import AMONG, FIXED_RATE, Results
from bench.loading.identity import Workspace
from bench.quota import NoLimits, limited
from bench.report import TARGETS, at_least, at_most, spread, table
from bench.scale import Scale
from bench.site import COUNTS, PARTS, SHARED, Case, serving
from bench.stack import Stack
from bench.traffic import ENDPOINTS, targets

PROGRAMS = {"nginx": "nginx-light", "pgbouncer": "pgbouncer"}  # and their packages in Debian
CORES = 0.25  # that a node may use; two and what they share are below the two of a machine
COSTS = ("server", "database", "redis")  # parts of a `Measurement`
# Two nodes against one:
SERVED = 1.8  # times the requests a second at least
NODE_COST, SHARED_COST = 1.05, 1.1  # times the processor time a request at most


@dataclass
class Nodes:
    """The rounds of each number of nodes.

    Attributes:
        missing: why something was not measured; sentences.
    """

    rounds: dict[int, list[Case]] = field(default_factory=lambda: {n: [] for n in COUNTS})
    missing: list[str] = field(default_factory=list)


def measure(stack: Stack, database: str, scale: Scale, workspaces: Sequence[Workspace]) -> Nodes:
    """One node and two, in turn, each with the same number of connections for a node."""
    found = Nodes()
    for program, package in PROGRAMS.items():
        # Debian installs them where only root's PATH leads.
        if not (shutil.which(program) or shutil.which(program, path="/usr/sbin")):
            found.missing.append(f"{program} is not installed (Debian: {package}).")
    if found.missing:
        return found
    with serving(stack, database) as site, ExitStack() as limits:
        try:
            for node in site.nodes:
                limits.enter_context(limited(node, CORES))
        except NoLimits as error:
            found.missing.append(f"This machine sets no limits for processes: {error}.")
        with stack.connect(database) as connection:
            wanted = targets(connection, ENDPOINTS[FIXED_RATE], workspaces[:AMONG])
        responses = learn({"node": site.fronts[1]}, wanted)["node"]
        for number in range(1, scale.rounds + 1):
            log(f"nodes, round {number} of {scale.rounds}")
            for count in COUNTS:
                stack.prepare(database)
                found.rounds[count].append(site.measure(count, responses, scale))
    return found


def _times(found: Nodes, value: Callable[[Case], float]) -> float:
    """A value of two nodes as a multiple of one node's in the same round: machines vary."""
    pairs = zip(found.rounds[2], found.rounds[1], strict=True)
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
    missing = [f"Not measured: {' '.join(found.missing)}", ""] if found.missing else []
    if not found.rounds[1]:
        return missing
    served = _times(found, lambda case: case.rate)
    nodes = _times(found, lambda case: case.ms("nodes"))
    shared = _times(found, lambda case: case.ms(*SHARED))
    verdicts = [
        at_most("processor time a request of the nodes", nodes, NODE_COST),
        at_most(f"processor time a request of {', '.join(SHARED)}", shared, SHARED_COST),
    ]
    if not missing:
        what = f"requests/s, with {CORES:g} of a core for each node"
        verdicts.insert(0, at_least(what, served, SERVED))
    rows = [
        [
            str(count),
            spread([case.rate for case in rounds], 0),
            *(spread([case.ms(part) for case in rounds]) for part in PARTS),
        ]
        for count, rounds in found.rounds.items()
    ]
    head = ("nodes", "requests/s", *(f"{part}, ms" for part in PARTS))
    head_of_targets = ("two nodes over one", *TARGETS[1:])
    return [*missing, *table(head_of_targets, verdicts), *table(head, rows)]
