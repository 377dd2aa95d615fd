"""The conditions of a search, as SQL and as tokens. Each `%(name)s` in the SQL is in `values`."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, NamedTuple
from uuid import UUID

from config.api.errors import InvalidParameter
from config.connections import fetch
from documents.models import RecipientStatus
from documents.search.parameters import WORDS_EXPECTED, WORDS_MAX, Range, Search, spellings

DAYS_MAX = 31  # of a range that is found by the tokens of its days
HAS_WORDS = "folded_title LIKE ALL (%(patterns)s::text[])"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Word(NamedTuple):
    """A word that is searched for: the beginning of one of the title's."""

    part: str  # of a folded title that has the word
    beginnings: list[str]  # the longest that are tokens: such a title has all of them


def words_of(title: str) -> list[Word]:
    """The words of a title. Raises InvalidParameter if it has none, or too many."""
    found = fetch("SELECT * FROM documents_asked_words(%(title)s)", {"title": title}, Word)
    if not 1 <= len(found) <= WORDS_MAX:
        raise InvalidParameter("title", WORDS_EXPECTED)
    return found


def values(asked: Search, words: list[Word], workspace_id: UUID) -> dict[str, Any]:
    found: dict[str, Any] = {
        "workspace": workspace_id,
        "statuses": list(asked.statuses),
        "patterns": [f"%{word.part}%" for word in words],
        "states": [asked.recipient_status] if asked.recipient_status else RecipientStatus.values,
        "emails": spellings(asked.recipient) if asked.recipient else [],
    }
    for time, first, end in asked.ranges:
        found |= {f"{time}_first": first, f"{time}_end": end}
    return found


def within(ranges: Iterable[Range]) -> Iterator[str]:
    """Whether times are within their ranges."""
    for time, first, end in ranges:
        if first:
            yield f"{time}_at >= %({time}_first)s"
        if end:
            yield f"{time}_at < %({time}_end)s"


def holds(asked: Search) -> Iterator[str]:
    """Whether `document` meets the conditions."""
    yield from within(asked.ranges)
    yield HAS_WORDS
    if asked.statuses:
        yield "document.status = ANY (%(statuses)s)"
    if asked.recipient or asked.recipient_status:
        emails = "ARRAY(SELECT lower(unnest(%(emails)s::text[])))"
        email = f"AND lower(email) = ANY ({emails})" if asked.recipient else ""
        # OFFSET 0: PostgreSQL would otherwise collect the recipients of all documents.
        yield f"""EXISTS (
            SELECT FROM "documents_recipient" AS recipient WHERE document_id = document.id
            AND recipient.status = ANY (%(states)s) {email} OFFSET 0
        )"""  # noqa: S608 - made of constants


def tokens(
    asked: Search, words: list[Word], given: dict[str, Any]
) -> tuple[list[str], dict[str, list[str]]]:
    """The tokens that each match has, and groups of tokens: each match has one of each group.

    What has them may be without a word of its title. A long range has no tokens. `given` is what
    `values` returned.
    """
    all_of = [f"title {beginning}" for word in words for beginning in word.beginnings]
    any_of = {}
    if asked.statuses:
        any_of["of_status"] = [f"status {status}" for status in asked.statuses]
    if asked.recipient or asked.recipient_status:
        both = product(given["states"], given["emails"] or [""])
        any_of["of_recipient"] = [f"recipient {state} {email}" for state, email in both]
    for time, first, end in asked.ranges:
        if first and end and timedelta(0) <= end - first <= timedelta(DAYS_MAX):
            days = range((first - _EPOCH).days, (end - _EPOCH).days + 1)
            any_of[f"of_{time}"] = [f"{time} {day}" for day in days]
    return all_of, any_of
