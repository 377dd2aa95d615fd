"""Which documents the demo's workspaces have. The same moment gives the same ones."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import cycle
from random import Random

from documents.demo.agreements import DECLINE_REASONS, KINDS
from documents.demo.author import Author, Made, text
from documents.demo.cast import ACME, FREEBIE, FROZEN, UMBRELLA, Tenant
from documents.models import Document

Status = Document.Status

# Documents of each status; of these the last so many of SENT and COMPLETED are deleted.
COUNTS = {
    ACME: {
        Status.DRAFT: 12,
        Status.SENT: 19,
        Status.VIEWED: 12,
        Status.PARTIALLY_SIGNED: 15,
        Status.COMPLETED: 43,
        Status.DECLINED: 9,
        Status.EXPIRED: 8,
        Status.CANCELLED: 8,
    },
    UMBRELLA: {
        Status.DRAFT: 2,
        Status.SENT: 4,
        Status.PARTIALLY_SIGNED: 2,
        Status.COMPLETED: 7,
        Status.DECLINED: 1,
    },
    FREEBIE: {Status.DRAFT: 1, Status.SENT: 2, Status.COMPLETED: 2},
    FROZEN: {Status.SENT: 2, Status.COMPLETED: 2, Status.CANCELLED: 1},
}
DELETED = {ACME: 3}


def make_up(tenant: Tenant, now: datetime) -> Iterator[Made]:
    """The documents of a workspace, as they stand at `now`; ids and people are always the same."""
    reasons = cycle(DECLINE_REASONS)
    kinds = cycle(Random(tenant.name).sample(KINDS, len(KINDS)))  # noqa: S311 - repeatable
    for status, count in COUNTS[tenant].items():
        deleted = DELETED.get(tenant, 0) if status in (Status.SENT, Status.COMPLETED) else 0
        for number in range(count):
            rng = Random(f"{tenant.name} {status} {number}")  # noqa: S311 - repeatable
            author = Author(rng, tenant, next(kinds), status, now.replace(microsecond=0))
            made = author.write(next(reasons) if status == Status.DECLINED else None)
            if number >= count - deleted:
                made.value["deletedAt"] = text(now - timedelta(minutes=rng.randint(1, 100)))
            yield made
