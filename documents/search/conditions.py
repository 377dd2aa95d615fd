"""The conditions of a search as SQL. Each `%(name)s` in it is one of `values`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from documents.api.documents import VISIBLE as VISIBLE_TO_KEY
from documents.models import RecipientStatus
from documents.search.parameters import Range, Search, spellings
from documents.search.words import Word

# With a workspace that the planner does not know: for one that has most documents of all, it would
# take the index of all workspaces, and might read the documents of others first.
VISIBLE = VISIBLE_TO_KEY.replace("%s", "(SELECT %(workspace)s::uuid)")
DAYS_MAX = 92  # of a range that is found by the tokens of its days
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def values(asked: Search, words: list[Word], workspace_id: UUID) -> dict[str, Any]:
    found: dict[str, Any] = {
        "workspace": workspace_id,
        "statuses": list(asked.statuses),
        "status": asked.statuses[0] if asked.statuses else None,
        "states": _states(asked),
        "emails": _emails(asked),
        "patterns": [f"%{word.part}%" for word in words],
    }
    for each in asked.ranges:
        found |= {f"{each.time}_first": each.first, f"{each.time}_end": each.end}
    for n, tokens in enumerate(groups_of_tokens(asked, words)):
        found[f"tokens_{n}"] = tokens
    return found


def holds(asked: Search) -> str:
    """Whether `document` meets all conditions but the range of the time by which it is sorted."""
    found = ["true", *within(asked, "document", is_sorted=False)]
    if asked.statuses:
        found.append("document.status = ANY (%(statuses)s)")
    if asked.title is not None:
        found.append("document.folded_title LIKE ALL (%(patterns)s::text[])")
    if asked.recipient or asked.recipient_status:
        email = "AND lower(email) = ANY (%(emails)s)" if asked.recipient else ""
        # OFFSET 0: PostgreSQL would otherwise collect the recipients of all documents.
        found.append(
            f"""EXISTS (
                SELECT FROM "documents_recipient" AS recipient WHERE document_id = document.id
                AND recipient.status = ANY (%(states)s) {email} OFFSET 0
            )"""  # noqa: S608 - made of constants
        )
    return " AND ".join(found)


def within(asked: Search, table: str, *, is_sorted: bool) -> Iterator[str]:
    """Whether the table's times are within the ranges: that of the sorting time, or the others."""
    for each in asked.ranges:
        if (each.time == asked.sort) == is_sorted:
            if each.first:
                yield f"{table}.{each.time}_at >= %({each.time}_first)s"
            if each.end:
                yield f"{table}.{each.time}_at < %({each.time}_end)s"


def groups_of_tokens(asked: Search, words: list[Word]) -> list[list[str]]:
    """The tokens of `documents/search.sql`: what matches has one of each group at least.

    A long range has none.
    """
    found = [[f"title {beginning}"] for word in words for beginning in word.beginnings]
    found.append([f"status {status}" for status in asked.statuses])
    if asked.recipient:
        found.append([f"recipient {s} {e}" for s in _states(asked) for e in _emails(asked)])
    elif asked.recipient_status:
        found.append([f"recipient {asked.recipient_status}"])
    found += [[f"{each.time} {day}" for day in _days(each)] for each in asked.ranges]
    return [group for group in found if group]


def _emails(asked: Search) -> list[str]:
    return [each.lower() for each in spellings(asked.recipient)] if asked.recipient else []


def _states(asked: Search) -> list[str]:
    return [asked.recipient_status] if asked.recipient_status else RecipientStatus.values


def _days(asked: Range) -> range:
    """The days of a range, counted from 1970 on; none if they are many."""
    if not asked.first or not asked.end or asked.end - asked.first > timedelta(DAYS_MAX):
        return range(0)
    return range((asked.first - _EPOCH).days, (asked.end - _EPOCH).days + 1)
