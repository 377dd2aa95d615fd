"""The variants beside each other: rounds of A B C D, A B C D, for each endpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.agreement import learn, refuse_alike
from bench.loading.identity import Workspace
from bench.measuring import Measurement, measure, prepare
from bench.progress import say
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import Endpoint, Target, endless, some_documents, targets
from bench.variants import Server, Variant, serving

Learned = Mapping[str, Mapping[str, Sequence[Target]]]


@dataclass(frozen=True)
class Spread:
    """The median of several rounds, and the least and the most."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values))


Results = dict[tuple[str, str], list[Measurement]]  # (endpoint, variant) → one for each round


def ratios(results: Results, endpoint: str, one: str, other: str) -> list[float]:
    """Requests a second of one variant as multiples of another's, round by round."""
    pairs = zip(results[endpoint, one], results[endpoint, other], strict=True)
    return [a.rate / b.rate for a, b in pairs]


def _learn(
    stack: Stack,
    database: str,
    servers: Mapping[str, Server],
    endpoints: Sequence[Endpoint],
    workspaces: Sequence[Workspace],
) -> Learned:
    with stack.connect(database) as connection:
        documents = some_documents(connection, workspaces)
    found = {}
    for endpoint in endpoints:
        stack.forget_requests()
        found[endpoint.name] = learn(servers, endpoint, targets(endpoint, workspaces, documents))
    return found


def compare(
    stack: Stack,
    database: str,
    scale: Scale,
    workspaces: Sequence[Workspace],
    variants: Sequence[Variant],
    endpoints: Sequence[Endpoint],
) -> Results:
    """Measures each endpoint with each variant in the small workspaces.

    Raises:
        Disagreement: the variants do not answer alike.
        WrongAnswer: under load, an answer was not the right one.
    """
    results: Results = {(e.name, v.name): [] for e in endpoints for v in variants}
    learned: Learned = {}
    for number in range(1, scale.rounds + 1):
        # New processes for each round: what a start happens to decide is part of the spread.
        with serving(stack, database, variants) as servers:
            if not learned:
                learned = _learn(stack, database, servers, endpoints, workspaces)
                refuse_alike(stack, servers, learned[endpoints[0].name][variants[0].name][0])
            say(f"round {number} of {scale.rounds}")
            for endpoint in endpoints:
                said = []
                for name, server in servers.items():
                    prepare(stack, database)
                    found = measure(
                        stack,
                        server,
                        endless(learned[endpoint.name][name]),
                        warm_up=scale.warm_up,
                        seconds=scale.seconds,
                    )
                    results[endpoint.name, name].append(found)
                    said.append(f"{name} {found.rate:.0f}/s {found.cost_ms:.2f} ms")
                say(f"  {endpoint.title}: {', '.join(said)}")
    return results
