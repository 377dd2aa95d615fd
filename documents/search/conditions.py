"""The conditions of a search, as SQL. Each `%(name)s` in it is one of `values`."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import product
from typing import Any, NamedTuple
from uuid import UUID

from config.api.errors import InvalidParameter
from config.connections import fetch
from documents.api import documents
from documents.models import RecipientStatus
from documents.search.parameters import WORDS_EXPECTED, WORDS_MAX, Range, Search, spellings

DAYS_MAX = timedelta(31)  # of a range that is found by the tokens of its days
VISIBLE = documents.VISIBLE.replace("%s", "%(workspace)s")
_HASHES = "ARRAY(SELECT documents_token(%(workspace)s, each) FROM unnest(%({})s::text[]) each)"
HAS_WORDS = "folded_title LIKE ALL (%(patterns)s::text[])"


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
    states = [asked.recipient_status] if asked.recipient_status else RecipientStatus.values
    emails = spellings(asked.recipient) if asked.recipient else []
    both = product(states, emails or [""])
    beginnings = [f"title {beginning}" for word in words for beginning in word.beginnings]
    found: dict[str, Any] = {
        "workspace": workspace_id,
        "statuses": list(asked.statuses),
        "patterns": [f"%{word.part}%" for word in words],
        "states": states,
        "emails": emails,
        "of_all": [asked.sort, *beginnings],
        "of_status": [f"status {status}" for status in asked.statuses],
        "of_recipient": [f"recipient {state} {email}" for state, email in both],
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


def has_tokens(asked: Search) -> Iterator[str]:
    """Whether a row has the tokens that each match has.

    It may be without a word of its title, or outside of a range.
    """
    # One condition for these: planning one for each could take 0.1 s.
    yield f"tokens @> {_HASHES.format('of_all')}"
    if asked.statuses:
        yield f"tokens && {_HASHES.format('of_status')}"
    if asked.recipient or asked.recipient_status:
        yield f"tokens && {_HASHES.format('of_recipient')}"
    for each in asked.ranges:
        yield f"tokens && {_periods(each)}"


def _periods(each: Range) -> str:
    """The tokens of the days or months of a range: of those that a document's time is in.

    They are found one after the other, from the end on, by the time's index.
    """
    time, first, end = each
    unit = "day" if first and end and end - first <= DAYS_MAX else "month"
    where = [VISIBLE, f"{time}_at < before", *within([each._replace(end=None)])]
    return f"""ARRAY(
        WITH RECURSIVE period (before) AS (
            SELECT coalesce(%({time}_end)s, 'infinity')::timestamptz
            UNION ALL
            SELECT date_trunc('{unit}', (
                SELECT {time}_at FROM "documents_document" AS document WHERE {" AND ".join(where)}
                ORDER BY {time}_at DESC, id DESC LIMIT 1
            ), 'UTC') FROM period WHERE before IS NOT NULL
        )
        SELECT documents_token(
            %(workspace)s, '{time} {unit} ' || extract(epoch FROM before)
        ) FROM period WHERE before IS NOT NULL OFFSET 1  -- without the end itself
    )"""  # noqa: S608 - made of constants
