"""The variants compared: rounds of A B C, A B C, for each endpoint."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench import log
from bench.agreement import learn, refuse_alike
from bench.client import Request
from bench.loading import Workspace
from bench.measuring import Latency, Measurement, latency, measure
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import Endpoint, Target, endless, targets
from bench.variants import Server, Variant, serving

AMONG = 40  # small workspaces that are requested in turn
FIXED_RATE = "list25"  # the endpoint that is also measured at a fixed rate
PACES = ("drf", "starlette")  # half the rate of these, for all variants that can serve twice that

Cases = dict[str, list[Measurement]]  # case → one for each round
Results = dict[tuple[str, str], list[Measurement]]  # (endpoint, variant) → one for each round
Latencies = dict[tuple[str, str], list[Latency]]  # (whose pace, variant) → one for each round


@dataclass
class Comparison:
    """Each endpoint with each variant, in the small workspaces."""

    stack: Stack
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
            with serving(self.variants) as servers:
                if not self.learned:
                    self._learn(servers)
                log(f"round {number} of {self.scale.rounds}")
                for endpoint in self.endpoints:
                    found = {
                        name: measure(
                            self.stack, server, self._requests(endpoint, name), self.scale.seconds
                        )
                        for name, server in servers.items()
                    }
                    for name, measurement in found.items():
                        results[endpoint, name].append(measurement)
                    rates = (f"{n} {m.rate:.0f}/s {m.cost_ms:.2f} ms" for n, m in found.items())
                    log(f"  {endpoint}: {', '.join(rates)}")
                    if endpoint == FIXED_RATE and found.keys() >= set(PACES):
                        self._measure_latencies(servers, found)
        return results

    def _learn(self, servers: Mapping[str, Server]) -> None:
        with self.stack.connect() as connection:
            for name in self.endpoints:
                log(f"comparing responses: {name}")
                self.stack.reset_rate_limit()
                wanted = targets(connection, name, self.workspaces[:AMONG])
                self.learned[name] = learn(servers, wanted)
        refuse_alike(self.stack, servers, wanted[0])

    def _requests(self, endpoint: str, variant: str) -> Iterator[Request]:
        self.stack.prepare()
        return endless(self.learned[endpoint][variant])

    def _measure_latencies(
        self, servers: Mapping[str, Server], measured: Mapping[str, Measurement]
    ) -> None:
        """Each variant at the paces that it can keep up with."""
        for pace in PACES:
            rate = measured[pace].rate / 2
            for name, server in servers.items():
                if measured[name].rate >= rate * 2:
                    found = latency(
                        server, self._requests(FIXED_RATE, name), rate, self.scale.seconds / 2
                    )
                    self.latencies.setdefault((pace, name), []).append(found)
