"""The conditions of a search, as SQL and as tokens. Each `%(name)s` in the SQL is in `values`."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple
from uuid import UUID

from config.api.errors import InvalidParameter
from config.connections import fetch
from documents.api import documents
from documents.models import RecipientStatus
from documents.search.parameters import WORDS_EXPECTED, WORDS_MAX, Range, Search, spellings

MONTHS_MAX = 36
VISIBLE = documents.VISIBLE.replace("%s", "%(workspace)s")
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


def tokens(asked: Search, words: list[Word], given: dict[str, Any]) -> dict[str, list[str]]:
    """Groups of tokens: each match has all of the group `all`, and one of each other group.

    What has them may be without a word of its title, or outside of a range. A long range has no
    tokens. `given` is what `values` returned.
    """
    all_of = [f"title {beginning}" for word in words for beginning in word.beginnings]
    found = {"all": [asked.sort, *all_of]}
    if asked.statuses:
        found["status"] = [f"status {status}" for status in asked.statuses]
    if asked.recipient or asked.recipient_status:
        both = product(given["states"], given["emails"] or [""])
        found["recipient"] = [f"recipient {state} {email}" for state, email in both]
    for each in asked.ranges:
        months = _months(each.time, given)
        if len(months) <= MONTHS_MAX:
            found[each.time] = [f"{each.time} {month}" for month in months]
    return found


def _months(time: str, given: dict[str, Any]) -> range:
    """The months of a range, counted from the year 0, from the oldest document to the newest."""
    [(first, end)] = fetch(
        f"""SELECT greatest(min({time}_at), %({time}_first)s), least(max({time}_at), %({time}_end)s)
        FROM "documents_document" AS document WHERE {VISIBLE}""",  # noqa: S608 - made of constants
        given,
    )
    if first is None or end is None:  # no document has this time
        return range(0)
    return range(12 * first.year + first.month, 12 * end.year + end.month + 1)
