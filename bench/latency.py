"""How long requests wait at a fixed rate: those that come while others are slow are counted too."""

from collections.abc import Mapping, Sequence
from statistics import median, quantiles

from bench.client import client
from bench.comparison import Learned
from bench.measuring import CONNECTIONS, prepare
from bench.progress import say
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import endless
from bench.variants import Variant, serving

ENDPOINT = "list25"

Latencies = dict[tuple[float, str], list[tuple[float, float]]]
"""(requests a second, variant) → for each round, seconds of the median and the 99th percentile."""


def wait_times(
    stack: Stack,
    database: str,
    scale: Scale,
    learned: Learned,
    variants: Sequence[Variant],
    rates: Mapping[float, Sequence[str]],
) -> Latencies:
    """Each variant at each rate that it can serve.

    Args:
        rates: requests a second → names of the variants.
    """
    found: Latencies = {(rate, name): [] for rate, names in rates.items() for name in names}
    with serving(stack, database, variants) as servers:
        for number in range(1, scale.rounds + 1):
            say(f"latency, round {number} of {scale.rounds}")
            for rate, name in found:
                prepare(stack, database)
                with client(servers[name].port, endless(learned[ENDPOINT][name])) as load:
                    load.warm_up(CONNECTIONS, scale.warm_up)
                    took = load.at_rate(rate, max(scale.seconds, 20 / rate))
                found[rate, name].append((median(took), quantiles(took, n=100)[98]))
    return found
