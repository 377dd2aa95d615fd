"""Finds a page of a search, at a cost that does not grow with the workspace.

A condition that fewer than RARE documents meet leads to those. If there is none, documents are
looked at in the order of the search, by the index of one condition or by that of all documents, but
only so many for one page. It may then have fewer documents than asked for, or none, though others
follow.
"""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from psycopg.types.datetime import TimestamptzLoader

from documents.api.documents import DOCUMENT_COLUMNS_SQL, DocumentPosition
from documents.search.conditions import AMONG, VISIBLE, Source, by_time, conditions, values, within
from documents.search.parameters import Search
from documents.search.words import words_of

# Documents that are looked at for a page: those that are read in the order of their own index, if
# that index and their row say all; and others.
LOOKS, LOOKS_FAR = 1_500, 200
RARE = 100  # documents
COUNTED = 5  # indexes, the likeliest to have few

_ORDER = "ORDER BY time DESC, looked DESC"
# What looks frequent in the statistics of all workspaces may be rare in one, or together with
# something else: reading a table until enough is found would then read all of it.
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; "


class SearchPage(NamedTuple):
    """A page of a search.

    Attributes:
        rows: of the documents that match, with DOCUMENT_COLUMNS.
        next: the position behind the page; None if nothing more can follow.
        searched_to: how far was looked, if that is why the page is not full.
    """

    rows: list[list[Any]]
    next: DocumentPosition | None
    searched_to: datetime | None


def search(
    workspace_id: UUID, asked: Search, after: DocumentPosition | None, limit: int, looks: int = 1
) -> SearchPage:
    """The next documents that match. Raises InvalidParameter if the title has no words, or too
    many.

    `looks`: how many times as many documents are looked at as for a page of the API.
    """
    words = words_of(asked.title, workspace_id) if asked.title is not None else []
    given = values(asked, words, workspace_id)
    wanted = list(conditions(asked, words))
    sources = [source for each in wanted for source in each.sources]
    in_order = [each for each in sources if each.in_order and asked.sort == "created"]
    source = in_order[-1] if in_order else by_time(asked.sort)
    if len(sources) > 1 or (sources and not in_order):
        given["among"] = _rare(sources[-COUNTED:], given)
        if given["among"] is not None:
            source = by_time(asked.sort, documents=AMONG)
    wanted.sort(key=lambda each: each.is_far)
    is_near = not source.each and not any(each.is_far for each in wanted)
    most = looks * (LOOKS if is_near else LOOKS_FAR)
    holds = " AND ".join([VISIBLE, *(each.holds for each in wanted)])
    behind = [within("time", each) for each in asked.ranges if each.time == asked.sort]
    if after:
        behind.append("(time, looked) < (%(after_time)s, %(after_id)s)")
        given |= {"after_time": after.time, "after_id": after.id}
    # The last document that is looked at comes too, whether it matches or not: the next page begins
    # behind it.
    found = fetch_planned(
        f"""SELECT time, looked, number, matches, {DOCUMENT_COLUMNS_SQL} FROM (
            SELECT *, row_number() OVER ({_ORDER}) AS number
            FROM ({_listed(source, behind, most)}) AS source
        ) AS document
        CROSS JOIN LATERAL (SELECT coalesce({holds}, false) AS matches) AS checked
        WHERE matches OR number = {most} {_ORDER} LIMIT {limit + 1}
        """,  # noqa: S608 - made of constants
        given,
    )
    rows: list[list[Any]] = []
    position = following = searched_to = None
    for time, id, number, matches, *document in found:
        if matches and len(rows) == limit:
            following = position
            break
        position = DocumentPosition(time, id)
        if matches:
            rows.append(document)
        if number == most:
            following, searched_to = position, time if len(rows) < limit else None
    return SearchPage(rows, following, searched_to)


def _rare(sources: list[Source], given: dict[str, Any]) -> list[UUID] | None:
    """The documents of the source that has the fewest, if those are few."""
    ids = (
        f"""(SELECT CASE WHEN count(*) < {RARE} THEN coalesce(array_agg(id), '{{}}') END FROM (
            SELECT id FROM {each.each} (SELECT {each.id} FROM {each.rows} LIMIT {RARE}) AS one (id)
            LIMIT {RARE}
        ) AS counted)"""  # noqa: S608 - made of constants
        for each in sources
    )
    [found] = fetch_planned(f"SELECT {', '.join(ids)}", given)
    return min((each for each in found if each is not None), key=len, default=None)


def fetch_planned(sql: str, parameters: dict[str, Any]) -> list[Any]:
    """Runs a statement that is planned for its values, not prepared: they decide what is quick."""
    with connection.cursor() as cursor:
        cursor.adapters.register_loader("timestamptz", TimestamptzLoader)  # in C, unlike Django's
        cursor.execute(_BY_INDEX + sql, parameters)
        while cursor.nextset():
            pass
        rows: list[Any] = cursor.fetchall()
    return rows


def _listed(source: Source, behind: list[str], most: int) -> str:
    """The first documents of a source that are behind the position, with their own positions."""
    rows = f"{source.time} AS time, {source.id} AS looked FROM {source.rows}"
    where = f"WHERE {' AND '.join(behind)}" if behind else ""
    end = f"{_ORDER} LIMIT {most}"
    if not source.each:
        return f"SELECT * FROM (SELECT document.*, {rows}) AS listed {where} {end}"  # noqa: S608
    # OFFSET 0: documents are read one by one, until the page is full.
    return f"""
        SELECT document.*, time, looked FROM (
            SELECT DISTINCT time, looked FROM {source.each} (
                SELECT DISTINCT time, looked FROM (SELECT {rows}) AS one {where} {end}
            ) AS listed {end}
        ) AS found LEFT JOIN LATERAL (
            SELECT * FROM "documents_document" WHERE id = looked OFFSET 0
        ) AS document ON true {_ORDER}
    """  # noqa: S608 - made of constants
