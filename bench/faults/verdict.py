"""What was promised, what clients saw, and whether the one holds in the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.client import Outcome, counts

QUICK = 1.0  # seconds that a response of a healthy service takes at most …
LARGE = 1_000_000  # bytes; … and a larger one
LARGE_QUICK = 6.0
HEALTHY = 5.0  # seconds after the end of a fault until everything is right and quick again
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
class Seen:
    """What clients saw before, during and after a fault.

    Attributes:
        healthy: seconds from the end of the fault.
        facts: what the fault found out.
        broken: promises of the fault itself.
        downloads: those that clients saw complete.
        lost: what the audit log lacks of them.
    """

    before: list[Outcome] = field(default_factory=list)
    during: list[Outcome] = field(default_factory=list)
    after: list[Outcome] = field(default_factory=list)
    healthy: float = 0.0
    facts: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    downloads: int = 0
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Promise:
    """What a fault may do.

    Attributes:
        reads: of `/me`, lists and details.
        me: of `/me`, if that is another promise.
        ratio: the median of all responses may be so many times the one before; 0 for any.
        requests: at least so many were sent meanwhile.
    """

    reads: Answer = Answer()
    downloads: Answer = Answer((200,), 6.0)
    me: Answer | None = None
    ratio: float = 0.0
    requests: int = 0
    also: str = ""

    def __str__(self) -> str:
        parts = [f"me, list, detail: {self.reads}", f"download: {self.downloads}"]
        if self.ratio:
            parts = [f"me, list: {self.reads}, median ≤ {self.ratio:g} × undisturbed"]
        elif self.me:
            parts = [f"me: {self.me}", f"others: {self.reads}"]
        elif self.downloads == self.reads:
            parts = [f"all: {self.reads}"]
        if self.requests:
            parts.append(f"{self.requests:,} requests")
        parts += [self.also] if self.also else []
        return "; ".join([*parts, f"healthy within {HEALTHY:g} s"])

    def broken(self, seen: Seen) -> list[str]:
        """What does not hold, in words; empty if everything holds."""
        found = []
        answers = {"me": self.me or self.reads, "download": self.downloads}
        for endpoint in ENDPOINTS:
            of_it = [o for o in seen.during if o.endpoint == endpoint]
            answer = answers.get(endpoint, self.reads)
            found += [f"{endpoint}: {what}" for what in answer.broken(of_it)]
        if self.ratio and (times := ratio(seen.before, seen.during)) > self.ratio:
            found.append(f"median {times:.1f} × undisturbed")
        if len(seen.during) < self.requests:
            found.append(f"only {len(seen.during):,} requests")
        if seen.healthy > HEALTHY:
            found.append(f"healthy after {seen.healthy:.1f} s")
        return [*found, *seen.broken, *seen.lost]


def good(outcome: Outcome) -> bool:
    """Whether a healthy service would respond like this."""
    limit = QUICK if outcome.size < LARGE else LARGE_QUICK
    return outcome.right and outcome.seconds <= limit


def seconds_until_healthy(outcomes: Sequence[Outcome], end: float) -> float:
    """From the end of the fault to when the last request was due whose outcome was not good."""
    bad = [o.due - end for o in outcomes if o.due >= end and not good(o)]
    return max(bad, default=0.0)


def ratio(before: Sequence[Outcome], during: Sequence[Outcome]) -> float:
    """The second median as a multiple of the first one; 0 if one of them is empty."""
    if not before or not during:
        return 0.0
    return median(o.seconds for o in during) / median(o.seconds for o in before)
