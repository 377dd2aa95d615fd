"""The variants beside each other: rounds of A B C D, A B C D, for each endpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench import latency
from bench.agreement import learn, refuse_alike
from bench.latency import Latencies
from bench.loading.identity import Workspace
from bench.measuring import Measurement, measure, prepare
from bench.progress import say
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import Endpoint, Target, endless, some_documents, targets
from bench.variants import Server, Variant, serving

AMONG = 40  # small workspaces that are asked in turn

Learned = dict[str, dict[str, list[Target]]]


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


def savings(results: Results, endpoint: str, one: str, other: str) -> list[float]:
    """Processor time of a request to another variant in multiples of this one's, by rounds."""
    pairs = zip(results[endpoint, one], results[endpoint, other], strict=True)
    return [b.cost_ms / a.cost_ms for a, b in pairs]


@dataclass
class Comparison:
    """Each endpoint with each variant, in the small workspaces.

    Attributes:
        workspaces: the first of them are asked.
        learned: endpoint → variant → what is asked, with the answers.
        latencies: what is measured at fixed rates besides, beside the peers that set them.
    """

    stack: Stack
    database: str
    scale: Scale
    workspaces: Sequence[Workspace]
    variants: Sequence[Variant]
    endpoints: Sequence[Endpoint]
    learned: Learned = field(default_factory=dict)
    latencies: Latencies = field(default_factory=dict)

    def run(self) -> Results:
        """Measures all of it.

        Raises:
            Disagreement: the variants do not answer alike.
            WrongAnswer: under load, an answer was not the right one.
        """
        results: Results = {(e.name, v.name): [] for e in self.endpoints for v in self.variants}
        for number in range(1, self.scale.rounds + 1):
            # New processes for each round: what a start happens to decide is part of the spread.
            with serving(self.stack, self.database, self.variants) as servers:
                if not self.learned:
                    self._learn(servers)
                say(f"round {number} of {self.scale.rounds}")
                for endpoint in self.endpoints:
                    found = {n: self._measure(s, endpoint) for n, s in servers.items()}
                    for name, measurement in found.items():
                        results[endpoint.name, name].append(measurement)
                    told = (f"{n} {m.rate:.0f}/s {m.cost_ms:.2f} ms" for n, m in found.items())
                    say(f"  {endpoint.title}: {', '.join(told)}")
                    if endpoint.name == latency.ENDPOINT and found.keys() >= set(latency.PACES):
                        self._wait(servers, found)
        return results

    def _wait(self, servers: Mapping[str, Server], found: Mapping[str, Measurement]) -> None:
        targets = self.learned[latency.ENDPOINT]
        waited = latency.wait_times(self.stack, self.database, self.scale, servers, targets, found)
        for case, waiting in waited.items():
            self.latencies.setdefault(case, []).append(waiting)

    def _measure(self, server: Server, endpoint: Endpoint) -> Measurement:
        prepare(self.stack, self.database)
        return measure(
            self.stack,
            server,
            endless(self.learned[endpoint.name][server.variant.name]),
            warm_up=self.scale.warm_up,
            seconds=self.scale.seconds,
        )

    def _learn(self, servers: Mapping[str, Server]) -> None:
        asked = self.workspaces[:AMONG]
        with self.stack.connect(self.database) as connection:
            documents = some_documents(connection, asked)
        for endpoint in self.endpoints:
            self.stack.forget_requests()
            wanted = targets(endpoint, asked, documents)
            self.learned[endpoint.name] = learn(servers, endpoint, wanted)
        refuse_alike(self.stack, servers, wanted[0])
