"""This service under other servers and with other numbers of threads: what production takes."""

from collections.abc import Sequence

from bench.launch import granian, program
from bench.measuring import Measurement, measure, prepare
from bench.progress import say
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import Target, endless
from bench.variants import WORKERS, Variant, serving
from config.embedded.service import HOST

APPLICATION = "config.wsgi:application"

Servers = dict[str, list[Measurement]]  # server → one for each round


def _granian(threads: int) -> Variant:
    def command(port: int) -> list[str]:
        return granian(APPLICATION, port, workers=WORKERS, threads=threads)

    name = f"granian, {threads} thread{'s' if threads > 1 else ''} a process"
    return Variant(name, name, command)


def _gunicorn(threads: int) -> Variant:
    def command(port: int) -> list[str]:
        options = {"--workers": WORKERS, "--threads": threads, "--bind": f"{HOST}:{port}"}
        words = [str(word) for option in options.items() for word in option]
        return [program("gunicorn"), "--worker-class", "gthread", *words, APPLICATION]

    name = f"gunicorn, {threads} threads a process"
    return Variant(name, name, command)


VARIANTS = (*(_granian(threads) for threads in (1, 2, 4, 8)), _gunicorn(4))


def serve(stack: Stack, database: str, scale: Scale, targets: Sequence[Target]) -> Servers:
    """One endpoint under each server, measured in turn."""
    variants = VARIANTS if scale.name == "full" else VARIANTS[-1:]  # a start takes seconds
    found: Servers = {variant.name: [] for variant in variants}
    for number in range(1, scale.rounds + 1):
        say(f"servers, round {number} of {scale.rounds}")
        with serving(stack, database, variants) as servers:
            for name, server in servers.items():
                prepare(stack, database)
                half = scale.seconds / 2
                measured = measure(
                    stack, server, endless(targets), warm_up=scale.warm_up, seconds=half
                )
                found[name].append(measured)
    return found
