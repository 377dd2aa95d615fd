"""What was promised, what clients saw, and whether the one holds in the other."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.faults.client import Outcome

QUICK = 1.0  # seconds that a response of a healthy service takes at most …
LARGE = 1_000_000  # bytes; … and a larger one
LARGE_QUICK = 6.0
READS = ("me", "list", "detail")
ENDPOINTS = (*READS, "download")


@dataclass(frozen=True)
class Answer:
    """What clients may see: statuses, and seconds of the slowest and of the median response."""

    statuses: tuple[int, ...] = (200,)
    slowest: float = QUICK
    median: float = QUICK

    def __str__(self) -> str:
        text = f"{' or '.join(map(str, self.statuses))} within {self.slowest:g} s"
        return text + (f", half within {self.median:g} s" if self.median < self.slowest else "")

    def broken(self, outcomes: Sequence[Outcome]) -> list[str]:
        """What is not as promised."""
        others = counts([o for o in outcomes if o.problem or o.status not in self.statuses])
        found = [others] if others else []
        if silent := sum(o.status == 503 and not o.retry_after for o in outcomes):
            found.append(f"503 without Retry-After × {silent}")
        times = [o.seconds for o in outcomes]
        if times and max(times) > self.slowest:
            found.append(f"slowest {max(times):.1f} s")
        if times and median(times) > self.median:
            found.append(f"median {median(times):.2f} s")
        return found


@dataclass
class Audit:
    """The audit log beside the complete downloads that clients saw."""

    downloads: int = 0
    lost: int = 0  # without an entry of their start
    unfinished: int = 0  # without an entry of their completion
    wrong: int = 0  # with several completions, or one that does not have the whole file's size

    def broken(self) -> list[str]:
        found = {
            "downloads not recorded": self.lost,
            "completions not recorded": self.unfinished,
            "wrong completions": self.wrong,
        }
        return [f"{count} {what}" for what, count in found.items() if count]


@dataclass
class Seen:
    """What clients saw before, during and after a fault."""

    before: list[Outcome]
    during: list[Outcome]
    after: list[Outcome]
    healthy: float  # seconds from the end of the fault
    facts: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # promises of the fault itself
    audit: Audit = field(default_factory=Audit)

    @property
    def outcomes(self) -> list[Outcome]:
        return [*self.before, *self.during, *self.after]


@dataclass(frozen=True)
class Promise:
    """What a fault may do.

    Attributes:
        reads: of `/me`, lists and details.
        me: of `/me`, if that is another promise.
        healthy: seconds after its end until everything is right and quick again.
        ratio: the median of all responses may be so many times the one before; 0 for any.
        requests: at least so many were sent meanwhile.
    """

    reads: Answer = Answer()
    downloads: Answer = Answer((200,), 6.0)
    me: Answer | None = None
    healthy: float = 5.0
    ratio: float = 0.0
    requests: int = 0
    also: str = ""

    def __str__(self) -> str:
        parts = [f"me, list, detail: {self.reads}"]
        if self.ratio:
            parts = [f"me, list: {self.reads}, median ≤ {self.ratio:g} × undisturbed"]
        elif str(self.downloads) == str(self.reads):
            parts = [f"all: {self.reads}"]
        else:
            parts.append(f"download: {self.downloads}")
        if self.me:
            parts = [f"me: {self.me}", f"others: {self.reads}"]
        if self.requests:
            parts.append(f"{self.requests:,} requests")
        parts += [self.also] if self.also else []
        return "; ".join([*parts, f"healthy within {self.healthy:g} s"])

    def broken(self, seen: Seen) -> list[str]:
        """What does not hold, in words; empty if everything holds."""
        found = []
        for endpoint in ENDPOINTS:
            answer = self.downloads if endpoint == "download" else self.reads
            if endpoint == "me" and self.me:
                answer = self.me
            of_it = [o for o in seen.during if o.endpoint == endpoint]
            found += [f"{endpoint}: {what}" for what in answer.broken(of_it)]
        if self.ratio and (ratio := ratio_of(seen)) > self.ratio:
            found.append(f"median {ratio:.1f} × undisturbed")
        if len(seen.during) < self.requests:
            found.append(f"only {len(seen.during):,} requests")
        if seen.healthy > self.healthy:
            found.append(f"healthy after {seen.healthy:.1f} s")
        return [*found, *seen.broken, *seen.audit.broken()]


def good(outcome: Outcome) -> bool:
    """Whether a healthy service would respond like this."""
    limit = QUICK if outcome.size < LARGE else LARGE_QUICK
    return outcome.status == 200 and not outcome.problem and outcome.seconds <= limit


def seconds_until_healthy(outcomes: Sequence[Outcome], end: float) -> float:
    """From the end of the fault to when the last request was due whose outcome was not good."""
    bad = [o.due - end for o in outcomes if o.due >= end and not good(o)]
    return max(bad, default=0.0)


def ratio_of(seen: Seen) -> float:
    """The median during the fault as a multiple of the one before."""
    before, during = ([o.seconds for o in each] for each in (seen.before, seen.during))
    return median(during) / median(before) if before and during else 0.0


def counts(outcomes: Sequence[Outcome]) -> str:
    """ "200 × 40, closed × 2": the statuses, and what was no response or a wrong one."""
    found = Counter(o.problem or str(o.status) for o in outcomes)
    return ", ".join(f"{what} × {count:,}" for what, count in sorted(found.items()))
