"""Finds a page of a search.

The next NEWEST documents are looked at first. A frequent match fills its page there, or with the
next FURTHER. If not, an index finds all that have the tokens of the search. If these are no more
than MATCHES, those that match are sorted. Else the page has what the next FURTHER documents have:
fewer than asked for, or none.

So a page costs at most NEWEST and FURTHER documents, OUTDATED rows that are made, and MATCHES rows
of the index, which each page reads again, also if there are more. The index's lists of the tokens
have no bound, nor what vacuum has not yet removed.
"""

from datetime import datetime
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from documents.api.documents import DOCUMENT_COLUMNS_SQL, DocumentPosition
from documents.search.conditions import (
    HAS_WORDS,
    VISIBLE,
    has_tokens,
    holds,
    values,
    within,
    words_of,
)
from documents.search.parameters import Search

NEWEST, FURTHER = 1_000, 20_000  # documents looked at in their order, first and later
RECIPIENTS = 0.2  # share of these if recipients are asked for: those of each document are looked up
MATCHES = 120_000  # rows that have the tokens: those that match are sorted for a page
OUTDATED = 1_000  # changes that made documents outdated, of the workspace or of one not known

_ORDER = "time DESC, looked DESC"
_BEHIND = "({}_at, id) < (%(time)s, %(id)s)"
# An index has what is looked for, whatever the statistics of all workspaces say; a sort that cannot
# be avoided still runs. work_mem: the pages of MATCHES rows are remembered one by one.
_SETTINGS = """
    SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
    SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; SET LOCAL work_mem = '16MB';
"""
_OUTDATED = f"""(SELECT count(*) FROM (
    SELECT FROM "documents_outdated" WHERE workspace_id = %(workspace)s OR workspace_id IS NULL
    LIMIT {OUTDATED + 1}
) AS outdated)"""  # noqa: S608 - made of constants
# What has the rows of all documents, and when it has. The second takes a third longer, or more.
_SOURCES = {
    "documents_searchable": f"{_OUTDATED} = 0",
    "documents_findable(%(workspace)s)": f"{_OUTDATED} BETWEEN 1 AND {OUTDATED}",
}


class SearchPage(NamedTuple):
    rows: list[Any]  # of the documents that match, with DOCUMENT_COLUMNS
    next: DocumentPosition | None  # the position behind the page; None if nothing more can follow
    searched_to: datetime | None = None  # how far was looked, if that is why the page is short


def search(
    workspace_id: UUID, asked: Search, after: DocumentPosition | None, limit: int
) -> SearchPage:
    """The next documents that match. Raises InvalidParameter for a title without usable words."""
    words = words_of(asked.title) if asked.title is not None else []
    # Before the end of the range. With both, PostgreSQL 18 would begin at the end, and read all
    # that is before the position.
    end = next((each.end for each in asked.ranges if each.time == asked.sort), None)
    start = {"time": end or "infinity", "id": UUID(int=0)}
    given = values(asked, words, workspace_id) | (after._asdict() if after else start)
    page = _in_order(asked, given, NEWEST, limit)
    is_frequent = len(page.rows) >= limit / 5  # so further documents probably fill the page
    if page.searched_to and is_frequent:
        page = _in_order(asked, given, FURTHER, limit)
    if page.searched_to:
        page = _by_index(asked, given, limit) or page
    if page.searched_to and not is_frequent:
        page = _in_order(asked, given, FURTHER, limit)
    return page


def _by_index(asked: Search, given: dict[str, Any], limit: int) -> SearchPage | None:
    """The next that match, of all that have the tokens; None if these are too many."""
    matches = [_BEHIND.format(asked.sort), *within(asked.ranges), HAS_WORDS]
    for source, is_complete in _SOURCES.items():
        found = _fetch(
            f"""WITH found AS MATERIALIZED (
                SELECT {asked.sort}_at AS time, id AS looked, {" AND ".join(matches)} AS matches
                FROM {source} WHERE {is_complete} AND {" AND ".join(has_tokens(asked))}
                LIMIT {MATCHES + 1}
            )
            SELECT is_complete, number, time, looked, {DOCUMENT_COLUMNS_SQL}
            FROM (SELECT {is_complete}, count(*) FROM found) AS counted (is_complete, number)
            LEFT JOIN LATERAL (
                SELECT * FROM found WHERE matches AND number <= {MATCHES}
                ORDER BY {_ORDER} LIMIT {limit + 1}
            ) AS page ON true
            LEFT JOIN "documents_document" AS document ON document.id = looked AND {VISIBLE}
            ORDER BY {_ORDER}
            """,  # noqa: S608 - made of constants
            given,
        )
        was_complete, number, *_ = found[0]
        if was_complete:
            break
    if not was_complete or number > MATCHES:
        return None
    rows = [document for _, _, _, _, *document in found[:limit] if document[0]]  # else it is gone
    if len(found) <= limit:
        return SearchPage(rows, None)
    _, _, time, looked, *_ = found[limit - 1]
    return SearchPage(rows, DocumentPosition(time, looked))


def _in_order(asked: Search, given: dict[str, Any], most: int, limit: int) -> SearchPage:
    """Those that match of the next documents, of at most so many."""
    if asked.recipient or asked.recipient_status:
        most = ceil(most * RECIPIENTS)
    ranges = [each._replace(end=None) for each in asked.ranges if each.time == asked.sort]
    where = [VISIBLE, f"{asked.sort}_at IS NOT NULL", *within(ranges), _BEHIND.format(asked.sort)]
    if len(asked.statuses) == 1 and asked.sort == "created":
        where.append("status = (%(statuses)s::text[])[1]")  # it has an index in this order
    # The last document that is looked at comes too, whether it matches or not: if the page is not
    # full, the next one begins behind it.
    found = _fetch(
        f"""SELECT time, looked, number = {most}, matches, {DOCUMENT_COLUMNS_SQL} FROM (
            SELECT *, row_number() OVER (ORDER BY {_ORDER}) AS number FROM (
                SELECT document.*, {asked.sort}_at AS time, id AS looked
                FROM "documents_document" AS document WHERE {" AND ".join(where)}
                ORDER BY {_ORDER} LIMIT {most}
            ) AS listed
        ) AS document
        CROSS JOIN LATERAL (SELECT coalesce({" AND ".join(holds(asked))}, false)) AS held (matches)
        WHERE matches OR number = {most} ORDER BY {_ORDER} LIMIT {limit + 1}
        """,  # noqa: S608 - made of constants
        given,
    )
    rows = [document for _, _, _, matches, *document in found[:limit] if matches]
    if len(found) > limit:
        return SearchPage(rows, DocumentPosition(*found[limit - 1][:2]))
    if not found or not found[-1][2]:
        return SearchPage(rows, None)
    last = DocumentPosition(*found[-1][:2])
    return SearchPage(rows, last, last.time if len(rows) < limit else None)


def _fetch(sql: str, parameters: dict[str, Any]) -> list[Any]:
    """Runs a statement that is planned for its values, not prepared: they decide what is quick."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS + sql, parameters)
        while cursor.nextset():
            pass
        return list(cursor.fetchall())
