"""The variants compared: rounds of A B C D, A B C D, for each endpoint."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median, quantiles

from bench import log
from bench.agreement import learn, refuse_alike
from bench.client import Client
from bench.loading.identity import Workspace
from bench.measuring import CONNECTIONS, Measurement, measure
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import Endpoint, Target, endless, targets
from bench.variants import Server, Variant, serving

AMONG = 40  # small workspaces that are requested in turn
FIXED_RATE = "list25"  # the endpoint that is also measured at a fixed rate
PACES = ("drf", "starlette")  # half the rate of these, for all variants that can serve twice that
FEWEST = 20  # requests at a fixed rate


@dataclass(frozen=True)
class Latency:
    """At so many requests a second: the median and the 99th percentile, in seconds."""

    rate: float
    median: float
    late: float


Cases = dict[str, list[Measurement]]  # case → one for each round
Results = dict[tuple[str, str], list[Measurement]]  # (endpoint, variant) → one for each round
Latencies = dict[tuple[str, str], list[Latency]]  # (whose pace, variant) → one for each round


@dataclass
class Comparison:
    """Each endpoint with each variant, in the small workspaces."""

    stack: Stack
    database: str
    scale: Scale
    workspaces: Sequence[Workspace]
    variants: Mapping[str, Variant]
    endpoints: Mapping[str, Endpoint]
    # endpoint → variant → targets with the bodies of their responses
    learned: dict[str, dict[str, list[Target]]] = field(default_factory=dict)
    latencies: Latencies = field(default_factory=dict)  # at fixed rates, in the same rounds

    def run(self) -> Results:
        """Measures everything.

        Raises:
            Disagreement: the variants do not respond alike.
            WrongResponse: under load, a response was not the right one.
        """
        results: Results = {(e, v): [] for e in self.endpoints for v in self.variants}
        for number in range(1, self.scale.rounds + 1):
            # New processes for each round: the chances of a start are part of the spread.
            with serving(self.stack, self.database, self.variants) as servers:
                if not self.learned:
                    self._learn(servers)
                log(f"round {number} of {self.scale.rounds}")
                for endpoint in self.endpoints:
                    found = {n: self._measure(s, endpoint, n) for n, s in servers.items()}
                    for name, measurement in found.items():
                        results[endpoint, name].append(measurement)
                    rates = (f"{n} {m.rate:.0f}/s {m.cost_ms:.2f} ms" for n, m in found.items())
                    log(f"  {endpoint}: {', '.join(rates)}")
                    if endpoint == FIXED_RATE and found.keys() >= set(PACES):
                        self._measure_latencies(servers, found)
        return results

    def _learn(self, servers: Mapping[str, Server]) -> None:
        with self.stack.connect(self.database) as connection:
            for name, endpoint in self.endpoints.items():
                log(f"comparing responses: {name}")
                self.stack.reset_rate_limit()
                wanted = targets(connection, endpoint, self.workspaces[:AMONG])
                self.learned[name] = learn(servers, wanted)
        refuse_alike(self.stack, servers, wanted[0])

    def _measure(self, server: Server, endpoint: str, variant: str, part: float = 1) -> Measurement:
        self.stack.prepare(self.database)
        requests = endless(self.learned[endpoint][variant])
        return measure(self.stack, server, requests, self.scale, part=part)

    def _measure_latencies(
        self, servers: Mapping[str, Server], measured: Mapping[str, Measurement]
    ) -> None:
        """Each variant at the paces that it can keep up with."""
        for pace in PACES:
            rate = measured[pace].rate / 2
            for name, server in servers.items():
                if measured[name].rate < rate * 2:
                    continue
                self.stack.prepare(self.database)
                requests = endless(self.learned[FIXED_RATE][name])
                with closing(Client(server.port, requests)) as load:
                    load.warm_up(CONNECTIONS, self.scale.seconds / 4)
                    took = load.at_rate(rate, max(self.scale.seconds / 2, FEWEST / rate))
                latency = Latency(rate, median(took), quantiles(took, n=100)[98])
                self.latencies.setdefault((pace, name), []).append(latency)
