"""What is to be reached, as ratios within one run."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.comparison import Results, Spread, ratios

# endpoint → peer → how many times as many requests a second at least
AT_LEAST = {
    "list25": {"drf": 15, "fastapi": 1.4, "floor": 0.6},
    "list100": {"drf": 24, "fastapi": 2.3, "floor": 0.67},
    "detail": {"drf": 12, "fastapi": 1.25, "floor": 0.32},
    "me": {"drf": 9.5, "fastapi": 1.15, "floor": 0.38},
}
LISTS = 1.2  # the dearest list over the cheapest one
ME = 1.3  # a million documents over a thousand
HISTORY = 2.0  # ten million entries over ten thousand
IMPORT = 1.2  # a document among a hundred thousand over one among ten thousand
# MB that ninety thousand documents more may take: 180 bytes each. The ids alone, that of a document
# and of its three recipients, would be three times as much as Python's objects.
IMPORT_MEMORY = 16


@dataclass(frozen=True)
class Verdict:
    """One target, what was measured, and whether it holds."""

    what: str
    target: str
    measured: str
    holds: bool

    @property
    def cells(self) -> list[str]:
        return [self.what, self.target, self.measured, "holds" if self.holds else "**fails**"]


def against(results: Results, endpoint: str, peer: str) -> Verdict:
    """Requests a second of this service over a peer's."""
    found, least = Spread.of(ratios(results, endpoint, "ours", peer)), AT_LEAST[endpoint][peer]
    digits = 1 if least >= 5 else 2
    measured = f"{found.median:.{digits}f} ({found.least:.{digits}f} to {found.most:.{digits}f})"
    return Verdict("", f"≥ {least:g}", measured, found.median >= least)


def at_most(what: str, values: Sequence[float], base: float, most: float) -> Verdict:
    """The greatest of some values as a multiple of `base`."""
    ratio = max(values) / base
    return Verdict(what, f"≤ {most:g}", f"{ratio:.2f}", ratio <= most)


def no_more(what: str, megabytes: float, most: float) -> Verdict:
    """Memory that something takes."""
    return Verdict(what, f"≤ {most:g} MB", f"{megabytes:.1f} MB", megabytes <= most)
