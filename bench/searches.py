"""What each search costs the database. Django must be set up before this is imported."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.http import QueryDict

from bench import log
from bench.loading import SEARCHES, Scale, identifier
from bench.peers import REQUESTS_PER_MINUTE
from bench.report import Row, table
from documents.api.documents import DocumentPosition
from documents.search.parameters import SORTS, Search, read
from documents.search.queries import search

WORKSPACE = UUID(identifier("workspace", 0))  # the large one
PAGE = 25  # documents
ROUNDS = 3  # of all searches, which take seconds, for each round of the other measurements
# The first page, one from the middle of all documents, and one from their oldest twentieth.
NEWEST = datetime(2026, 6, 1, tzinfo=UTC)
AGES = (timedelta(days=548), timedelta(days=1040))
STARTS = (None, *(DocumentPosition(NEWEST - age, UUID(int=0)) for age in AGES))
HEAD = ("search", "", "documents", "requests", "first page, ms", "middle", "end", "other orders")


class Cost(NamedTuple):
    """Of the requests until there are as many documents as a page has, or no more."""

    milliseconds: float  # the database's processor time
    requests: int
    documents: int


def measure(scale: Scale) -> tuple[list[str], list[Row]]:
    """The table of all searches, and what must hold for each, in each order."""
    rows, costs = list[list[str]](), list[Cost]()
    least: dict[str, list[Cost]] = {}
    # Those of one search are seconds apart: another program that disturbs one spares the next.
    for number in range(ROUNDS * scale.rounds):
        log(f"searches, round {number + 1} of {ROUNDS * scale.rounds}")
        for name, query in SEARCHES.items():
            measured = _costs(query)
            before = least.get(name, measured)
            least[name] = [min(pair) for pair in zip(before, measured, strict=True)]
    for name, found in least.items():
        first, middle, end, *others = found
        requests = max(cost.requests for cost in found)
        times = [f"{cost.milliseconds:.1f}" for cost in (first, middle, end, max(others))]
        rows.append([name, f"`{SEARCHES[name]}`", str(first.documents), str(requests), *times])
        log(f"  search, {name}: {', '.join(times)} ms")
        costs += found
    most, slowest = max(cost.requests for cost in costs), max(costs).milliseconds
    return table(HEAD, rows, words=2), [
        Row("each search", "requests until 25 documents or the end", "≤", 1, [most]),
        Row("each search", "database, ms", "≤", 80, [slowest]),
    ]


def _costs(query: str) -> list[Cost]:
    """In its own order, then in the others."""
    asked = read(QueryDict(query))
    orders = sorted(SORTS, key=lambda sort: sort != asked.sort)
    return [_cost(asked._replace(sort=sort), start) for sort in orders for start in STARTS]


def _cost(asked: Search, after: DocumentPosition | None) -> Cost:
    before, requests, documents = _spent(), 0, 0
    while documents < PAGE and (after or not requests) and requests < REQUESTS_PER_MINUTE:
        page = search(WORKSPACE, asked, after, PAGE)
        requests, documents, after = requests + 1, documents + len(page.rows), page.next
    return Cost((_spent() - before) / 1e6, requests, documents)


def _spent() -> int:
    """Nanoseconds of processor time of the process that serves this connection."""
    connection.ensure_connection()
    process = connection.connection.info.backend_pid
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0])
