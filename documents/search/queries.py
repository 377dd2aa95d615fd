"""Finds a page of a search, at a cost that does not grow with the workspace.

A condition that fewer than LOOKED documents meet is rare: those documents are looked at, in any
order. If there is none, documents are looked at in the order of the search, by the index of one
condition or by that of all documents, at most LOOKED for each page. A page may then have fewer
documents than asked for, or none, though others follow.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from config.api.errors import InvalidParameter
from config.runtime.database import Row, current
from documents.api.queries import (
    DOCUMENT_COLUMNS_SQL,
    VISIBLE,
    Position,
    WithRecipients,
    with_their_recipients,
)
from documents.search.conditions import (
    LAST,
    Condition,
    Newest,
    Sql,
    by_time,
    conditions,
    within,
)
from documents.search.parameters import WORDS_EXPECTED, WORDS_MAX, Search

LOOKED = 500  # documents that one page looks at
SPELLINGS = 16  # words with one beginning that are read in turn

_ORDER = "time DESC, id DESC"
# The different words with one beginning: each is found from the one before.
_SPELLINGS = """
    WITH RECURSIVE spelling (word) AS (
        SELECT min(word) FROM "documents_titleword"
        WHERE workspace_id = %(workspace)s AND word >= %(word)s AND word < %(end)s
        UNION ALL
        SELECT (SELECT min(word) FROM "documents_titleword"
            WHERE workspace_id = %(workspace)s AND word > spelling.word AND word < %(end)s)
        FROM spelling WHERE spelling.word IS NOT NULL
    ) SELECT word FROM spelling WHERE word IS NOT NULL LIMIT %(limit)s
"""


class Page(NamedTuple):
    """A page of a search.

    Attributes:
        documents: those that match.
        next: the position behind the page; None if nothing more can follow.
        searched_to: how far was looked, if that is why the page is not full.
    """

    documents: list[WithRecipients]
    next: Position | None
    searched_to: datetime | None


def search(workspace_id: UUID, asked: Search, after: Position | None, limit: int) -> Page:
    """The next documents that match.

    Args:
        after: only those that follow this position in the order of the search.
        limit: documents of the page.

    Raises:
        InvalidParameter: the title has no words, or too many.
    """
    wanted = list(conditions(asked, _words(asked.title), workspace_id))
    source = _source(asked, wanted, workspace_id, after)
    holds = [VISIBLE.format(workspace="%s"), *(each.holds.text for each in wanted)]
    values = [workspace_id, *(value for each in wanted for value in each.holds.values)]
    matches = f"coalesce({' AND '.join(holds)}, false)"
    # The last document that is looked at comes too, whether it matches or not: the next page begins
    # behind it. OFFSET 0: documents are read one by one, until the page is full.
    found = _rows(
        f"""
        SELECT {DOCUMENT_COLUMNS_SQL}, time, number, matches, looked.id FROM (
            SELECT time, id, row_number() OVER (ORDER BY {_ORDER}) AS number
            FROM ({source.text}) AS source
        ) AS looked LEFT JOIN LATERAL (
            SELECT * FROM "documents_document" WHERE id = looked.id OFFSET 0
        ) AS document ON true
        CROSS JOIN LATERAL (SELECT {matches} AS matches) AS checked
        WHERE matches OR number = {LOOKED} ORDER BY time DESC, looked.id DESC LIMIT %s
        """,  # noqa: S608 - made of constants
        (*source.values, *values, limit + 1),
    )
    documents = [row for row in found if row[-2]]
    following, searched_to = None, None
    if len(documents) > limit:
        documents = documents[:limit]
        following = (documents[-1][-4], documents[-1][-1])
    elif found and found[-1][-3] == LOOKED:
        following = (found[-1][-4], found[-1][-1])
        searched_to = following[0] if len(documents) < limit else None
    return Page(with_their_recipients([row[:-4] for row in documents]), following, searched_to)


def _words(title: str | None) -> list[str]:
    """The words that are searched for, as the database has those of titles."""
    if title is None:
        return []
    [(words,)] = _rows("SELECT documents_words(%s)", (title,))
    if not 1 <= len(words) <= WORDS_MAX:
        raise InvalidParameter("title", WORDS_EXPECTED)
    return list(words)


def _source(
    asked: Search, wanted: list[Condition], workspace_id: UUID, after: Position | None
) -> Sql:
    """The times and ids of the documents to look at, of which none follows one that is left out."""
    everything = by_time(asked.sort, workspace_id)
    by_creation = asked.sort == "created"
    if by_creation and len(wanted) == 1 and wanted[0].newest and not wanted[0].word:
        return _in_order(wanted[0].newest, asked, after)
    if wanted:
        counts = [
            Sql(f"(SELECT count(*) FROM ({found.text} LIMIT {LOOKED}) AS counted)", found.values)
            for _, found, _, _ in wanted
        ]
        [found] = _rows(
            f"SELECT {', '.join(count.text for count in counts)}",  # noqa: S608 - constants
            [value for count in counts for value in count.values],
        )
        fewest, rarest = min(zip(found, range(len(wanted)), strict=True))
        if fewest < LOOKED:
            rare = wanted[rarest].found
            rows = Sql(
                f"{everything.rows.text} AND document.id IN ({rare.text})",
                (*everything.rows.values, *rare.values),
            )
            return _in_order(everything._replace(rows=rows), asked, after)
    if by_creation:
        for each in reversed(wanted):
            if newest := _spelled(each, workspace_id):
                return _in_order(newest, asked, after)
    return _in_order(everything, asked, after)


def _spelled(condition: Condition, workspace_id: UUID) -> Newest | None:
    """The index of a condition by creation, unless its word has too many spellings."""
    if not condition.word:
        return condition.newest
    word = condition.word
    found = _rows(
        _SPELLINGS,
        {"workspace": workspace_id, "word": word, "end": word + LAST, "limit": SPELLINGS + 1},
    )
    if len(found) > SPELLINGS or condition.newest is None:
        return None
    return condition.newest._replace(each=[each for (each,) in found])


def _in_order(newest: Newest, asked: Search, after: Position | None) -> Sql:
    """The first documents of an index in the order of the search, from a position on."""
    time, id, rows, each = newest
    parts = [rows]
    parts += [within(time, bounds) for bounds in asked.ranges if bounds.time == asked.sort]
    if after:
        parts.append(Sql(f"({time}, {id}) < (%s, %s)", after))
    text = f"""
        SELECT DISTINCT {time} AS time, {id} AS id FROM {" AND ".join(part.text for part in parts)}
        ORDER BY {_ORDER} LIMIT {LOOKED}
    """  # noqa: S608 - made of constants
    values = tuple(value for part in parts for value in part.values)
    if each is None:
        return Sql(text, values)
    return Sql(
        f"""
        SELECT DISTINCT time, id FROM unnest(%s::text[]) AS every (one)
        CROSS JOIN LATERAL ({text}) AS listed ORDER BY {_ORDER} LIMIT {LOOKED}
        """,  # noqa: S608 - made of constants
        (each, *values),
    )


def _rows(sql: str, values: Sequence[Any] | dict[str, Any]) -> list[Row]:
    """Runs a statement that is planned for its values: which index is best depends on them."""
    with current().cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[Row] = cursor.fetchall()
    return rows
