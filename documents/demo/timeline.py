"""When things happened on a document: every moment after the one it follows, none after now."""

from datetime import datetime, timedelta
from random import Random

from documents.models import Document, Recipient

Status = Document.Status
Reached = Recipient.Status
OPEN = (Status.SENT, Status.VIEWED, Status.PARTIALLY_SIGNED)
HALF_YEAR = 182.0  # days


def created(rng: Random, status: str, now: datetime) -> datetime:
    """A working hour within the half year before now, early enough for what came after it."""
    youngest, oldest = {  # days
        Status.DRAFT: (0.1, 100.0),
        Status.EXPIRED: (40.0, HALF_YEAR),
        Status.COMPLETED: (1.0, HALF_YEAR),
    }.get(Status(status), (0.2, 80.0) if status in OPEN else (3.0, HALF_YEAR))
    day = now - timedelta(days=rng.uniform(youngest, oldest))
    moment = day.replace(
        hour=rng.randint(7, 16),
        minute=rng.randint(0, 59),
        second=rng.randint(0, 59),
        microsecond=0,
    )
    if moment > now - timedelta(hours=3):
        moment -= timedelta(days=1)
    weekend = max(0, moment.weekday() - 4)
    return moment - timedelta(days=weekend)


def expires(rng: Random, status: str, sent: datetime, now: datetime) -> datetime | None:
    """Before now for what has expired, after now for what is open; some never expire."""
    terms = [timedelta(days=days) for days in (14, 30, 60, 90)]
    if status == Status.EXPIRED:
        return sent + rng.choice(terms[:2])
    if status in OPEN:
        terms = [term for term in terms if sent + term > now]
    return sent + rng.choice(terms) if terms and rng.random() < 0.8 else None


def levels(rng: Random, status: str, asked: int, *, sequential: bool) -> list[str]:
    """How far each of those asked to sign or approve is, as a recipient's status."""
    if status == Status.DRAFT:
        return [Reached.PENDING] * asked
    if status in (Status.EXPIRED, Status.CANCELLED):
        status = rng.choice(OPEN)
    if status == Status.COMPLETED:
        return [Reached.SIGNED] * asked
    done = {
        Status.PARTIALLY_SIGNED: rng.randint(1, asked - 1),
        Status.DECLINED: rng.randint(0, asked - 1),
    }.get(Status(status), 0)
    waiting = {
        Status.VIEWED: Reached.VIEWED,
        Status.DECLINED: Reached.DECLINED,
        Status.PARTIALLY_SIGNED: rng.choice([Reached.SENT, Reached.VIEWED]),
    }.get(Status(status), Reached.BOUNCED if rng.random() < 0.2 else Reached.SENT)
    rest = Reached.PENDING if sequential else Reached.SENT
    reached = [Reached.SIGNED] * done + [waiting] + [rest] * (asked - done - 1)
    if not sequential:
        rng.shuffle(reached)
    return [str(level) for level in reached]


def events(rng: Random, reached: list[str], *, sequential: bool) -> list[tuple[int, str]]:
    """What those people did, in order: who, and whether they viewed or acted (or declined)."""
    steps: dict[str, list[str]] = {
        Reached.VIEWED: ["viewed"],
        Reached.SIGNED: ["viewed", "acted"],
        Reached.DECLINED: ["viewed", "acted"],
    }
    left = [[(who, step) for step in steps.get(level, [])] for who, level in enumerate(reached)]
    order = []
    while left := [queue for queue in left if queue]:
        order.append((left[0] if sequential else rng.choice(left)).pop(0))
    return order


def moments(rng: Random, start: datetime, end: datetime, count: int) -> list[datetime]:
    """Different whole seconds after start and before end, in order."""
    seconds = int((end - start).total_seconds())
    return [start + timedelta(seconds=s) for s in sorted(rng.sample(range(1, seconds), count))]
