"""Finds a page of a search, at a cost that does not grow with the workspace.

A condition that fewer than RARE documents meet leads to those. If there is none, documents are
looked at in the order of the search, by the index of one condition or by that of all documents, but
only so many for one page. It may then have fewer documents than asked for, or none, though others
follow.
"""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from config.api.errors import InvalidParameter
from config.database import fetch, fetch_planned
from documents.api.queries import DOCUMENT_COLUMNS_SQL, Position
from documents.api.queries import VISIBLE_UNKNOWN as VISIBLE
from documents.search.conditions import (
    LAST,
    Condition,
    Index,
    Newest,
    Sql,
    all_of,
    by_time,
    conditions,
    within,
)
from documents.search.parameters import WORDS_EXPECTED, WORDS_MAX, Search

# Documents that are looked at for a page: those that are read in the order of their own index, if
# that index and their row say all; and others.
LOOKS, LOOKS_FAR = 1_500, 200
RARE = 100  # documents
SPELLINGS = 8  # words with one beginning that are read in turn

_WORDS = "SELECT left(unnest(string_to_array(btrim(documents_folded(%s)), ' ')), 60)"
_ORDER = "time DESC, looked DESC"
# What looks frequent in the statistics of all workspaces may be rare in one, or together with
# something else: reading a table until enough is found would then read all of it.
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;"
# The different words with one beginning: each is found from the one before.
_SPELLINGS = """
    WITH RECURSIVE spelling (word) AS (
        SELECT min(word) FROM "documents_titleword"
        WHERE workspace_id = %s AND word >= %s AND word < %s
        UNION ALL
        SELECT (SELECT min(word) FROM "documents_titleword"
            WHERE workspace_id = %s AND word > spelling.word AND word < %s)
        FROM spelling WHERE spelling.word IS NOT NULL
    ) SELECT word FROM spelling WHERE word IS NOT NULL LIMIT %s
"""


class Page(NamedTuple):
    """A page of a search.

    Attributes:
        rows: of the documents that match, with DOCUMENT_COLUMNS.
        next: the position behind the page; None if nothing more can follow.
        searched_to: how far was looked, if that is why the page is not full.
    """

    rows: list[tuple[Any, ...]]
    next: Position | None
    searched_to: datetime | None


class _Looked(NamedTuple):
    """A document that was looked at; its time and id are its position in the order.

    Attributes:
        number: of the documents that were looked at, from 1 on.
        document: its row; None if it does not match.
    """

    time: datetime
    id: UUID
    number: int
    document: tuple[Any, ...] | None


def _looked(time: datetime, id: UUID, number: int, matches: bool, *document: Any) -> _Looked:
    return _Looked(time, id, number, document if matches else None)


def search(
    workspace_id: UUID, asked: Search, after: Position | None, limit: int, looks: int = 1
) -> Page:
    """The next documents that match.

    Args:
        after: only those that follow this position in the order of the search.
        limit: documents of the page.
        looks: how many times as many documents are looked at as for a page of the API.

    Raises:
        InvalidParameter: the title has no words, or too many.
    """
    wanted = list(conditions(asked, _words(asked.title), workspace_id))
    newest = _order(asked, wanted, workspace_id)
    in_order = newest.of_documents and newest.each is None
    is_near = in_order and not any(each.is_far for each in wanted)
    most = looks * (LOOKS if is_near else LOOKS_FAR)
    source = _source(newest, asked, after, most)
    holds, values = all_of([Sql(VISIBLE, (workspace_id,)), *(each.holds for each in wanted)])
    # The last document that is looked at comes too, whether it matches or not: the next page begins
    # behind it.
    found = fetch_planned(
        _BY_INDEX,
        f"""SELECT time, looked, number, matches, {DOCUMENT_COLUMNS_SQL} FROM (
            SELECT *, row_number() OVER (ORDER BY {_ORDER}) AS number
            FROM ({source.text}) AS source
        ) AS document
        CROSS JOIN LATERAL (SELECT coalesce({holds}, false) AS matches) AS checked
        WHERE matches OR number = {most} ORDER BY {_ORDER} LIMIT %s
        """,  # noqa: S608 - made of constants
        (*source.values, *values, limit + 1),
        _looked,
    )
    matching = [row for row in found if row.document]
    following, searched_to = None, None
    if len(matching) > limit:
        matching = matching[:limit]
        following = Position(matching[-1].time, matching[-1].id)
    elif found and found[-1].number == most:
        following = Position(found[-1].time, found[-1].id)
        searched_to = found[-1].time if len(matching) < limit else None
    return Page([row.document for row in matching if row.document], following, searched_to)


def _words(title: str | None) -> list[str]:
    """The words that are searched for, folded as those of titles are, the longest last."""
    if title is None:
        return []
    words = {word for (word,) in fetch(_WORDS, (title,))}
    if not 1 <= len(words) <= WORDS_MAX:
        raise InvalidParameter("title", WORDS_EXPECTED)
    return sorted(words, key=len)


def _order(asked: Search, wanted: list[Condition], workspace_id: UUID) -> Newest:
    """The documents to look at."""
    by_creation = asked.sort == "created"
    indexes = [index for each in wanted for index in each.indexes]
    if by_creation and len(indexes) == 1 and indexes[0].newest and not indexes[0].word:
        return indexes[0].newest
    if rare := _rare(indexes):
        return by_time(asked.sort, workspace_id, among=min(rare, key=len))
    if by_creation:
        for each in reversed(wanted):
            # Of the words, only the longest is tried: it has the fewest spellings.
            if newest := _spelled(each.indexes[-1], workspace_id):
                return newest
    return by_time(asked.sort, workspace_id)


def _rare(indexes: list[Index]) -> list[list[UUID]]:
    """For each index that leads to few documents, their ids."""
    if not indexes:
        return []
    ids = (
        f"""(SELECT CASE WHEN count(*) < {RARE} THEN coalesce(array_agg(DISTINCT id), '{{}}') END
            FROM ({each.found.text} LIMIT {RARE}) AS counted (id))"""  # noqa: S608
        for each in indexes
    )
    values = [value for each in indexes for value in each.found.values]
    [found] = fetch_planned(_BY_INDEX, f"SELECT {', '.join(ids)}", values)
    return [each for each in found if each is not None]


def _spelled(index: Index, workspace_id: UUID) -> Newest | None:
    """The documents of an index by creation, unless its word has too many spellings."""
    word, newest = index.word, index.newest
    if not word or not newest:
        return newest
    end = word + LAST
    found = fetch(_SPELLINGS, (workspace_id, word, end, workspace_id, end, SPELLINGS + 1))
    return newest._replace(each=[(w, "") for (w,) in found]) if len(found) <= SPELLINGS else None


def _source(newest: Newest, asked: Search, after: Position | None, most: int) -> Sql:
    """The first documents in the order of the search, from a position on, with their times."""
    time, id, rows, each, of_documents = newest
    parts = [rows]
    parts += [within(time, bounds) for bounds in asked.ranges if bounds.time == asked.sort]
    if after:
        parts.append(Sql(f"({time}, {id}) < (%s, %s)", after))
    wanted, values = all_of(parts)
    if of_documents and each is None:
        return Sql(
            f"""
            SELECT document.*, {time} AS time, {id} AS looked FROM {wanted}
            ORDER BY {time} DESC, {id} DESC LIMIT {most}
            """,  # noqa: S608 - made of constants
            values,
        )
    found = f"""
        SELECT DISTINCT {time} AS time, {id} AS looked FROM {wanted}
        ORDER BY {_ORDER} LIMIT {most}
    """  # noqa: S608 - made of constants
    if each is not None:
        found = f"""
            SELECT DISTINCT time, looked FROM unnest(%s::text[], %s::text[]) AS every (one, other)
            CROSS JOIN LATERAL ({found}) AS listed ORDER BY {_ORDER} LIMIT {most}
        """  # noqa: S608 - made of constants
        ones, others = zip(*each, strict=True)
        values = (list(ones), list(others), *values)
    # OFFSET 0: documents are read one by one, until the page is full.
    return Sql(
        f"""
        SELECT document.*, time, looked FROM ({found}) AS found LEFT JOIN LATERAL (
            SELECT * FROM "documents_document" WHERE id = looked OFFSET 0
        ) AS document ON true ORDER BY {_ORDER}
        """,  # noqa: S608 - made of constants
        values,
    )
