"""How long requests wait at a fixed rate: those that come while others are slow are counted too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from bench.client import client
from bench.measuring import CONNECTIONS, Measurement, prepare
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import Target, endless
from bench.variants import Server

ENDPOINT = "list25"
PACES = ("drf", "fastapi")  # half as many requests as these can serve, for all that can serve more
FEWEST = 20  # requests


@dataclass(frozen=True)
class Waiting:
    """At so many requests a second: seconds that the median request waited, and the 99th of 100."""

    rate: float
    median: float
    late: float


Latencies = dict[tuple[str, str], list[Waiting]]
"""(whose pace, variant) → one for each round."""


def wait_times(
    stack: Stack,
    database: str,
    scale: Scale,
    servers: Mapping[str, Server],
    targets: Mapping[str, Sequence[Target]],
    measured: Mapping[str, Measurement],
) -> dict[tuple[str, str], Waiting]:
    """Each variant at the paces that it can keep up with.

    Args:
        targets: what each variant is asked.
        measured: what each variant has just been able to serve.
    """
    found = {}
    for pace in PACES:
        rate = measured[pace].rate / 2
        for name, server in servers.items():
            if measured[name].rate < rate * 2:
                continue
            prepare(stack, database)
            with client(server.port, endless(targets[name])) as load:
                load.warm_up(CONNECTIONS, scale.warm_up)
                took = load.at_rate(rate, max(scale.seconds / 2, FEWEST / rate))
            found[pace, name] = Waiting(rate, median(took), quantiles(took, n=100)[98])
    return found
