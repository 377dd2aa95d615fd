"""Finds a page of a search, at a cost that does not grow with the workspace.

What many documents match is found among the newest, so these are looked at first. If they do not
fill the page, the index of tokens has all documents that match, and these are sorted. Only if they
are more than MATCHES, further documents are looked at in their order. Such a page may have fewer
documents than asked for, or none, though others follow.
"""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from psycopg.types.datetime import TimestamptzLoader

from documents.api.documents import DOCUMENT_COLUMNS_SQL, DocumentPosition
from documents.search.conditions import VISIBLE, groups_of_tokens, holds, values, within
from documents.search.parameters import Search
from documents.search.words import words_of

NEWEST, FURTHER = 400, 20_000  # documents that are looked at in their order
MATCHES = 120_000  # documents of the index that are sorted

_ORDER = "ORDER BY time DESC, looked DESC"
# An index has what is looked for, whatever the statistics of all workspaces say.
_SETTINGS = """
    SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
    SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off;
"""


class SearchPage(NamedTuple):
    """A page of a search.

    Attributes:
        rows: of the documents that match, with DOCUMENT_COLUMNS.
        next: the position behind the page; None if nothing more can follow.
        searched_to: how far was looked, if that is why the page is not full.
    """

    rows: list[list[Any]]
    next: DocumentPosition | None
    searched_to: datetime | None = None


def search(
    workspace_id: UUID, asked: Search, after: DocumentPosition | None, limit: int
) -> SearchPage:
    """The next documents that match. Raises InvalidParameter if the title has no words, or too
    many.
    """
    words = words_of(asked.title) if asked.title is not None else []
    given = values(asked, words, workspace_id)
    if after:
        given |= {"after_time": after.time, "after_id": after.id}
    groups = len(groups_of_tokens(asked, words))
    page = _in_order(asked, given, NEWEST, limit)
    if page.searched_to and groups:
        page = _by_tokens(asked, given, groups, limit) or page
    if page.searched_to:
        page = _in_order(asked, given, FURTHER, limit)
    return page


def _in_order(asked: Search, given: dict[str, Any], most: int, limit: int) -> SearchPage:
    """Those that match of the next documents, of at most so many."""
    where = [VISIBLE, *_behind(asked, given, "document", "id")]
    if len(asked.statuses) == 1 and asked.sort == "created":
        where.append("document.status = %(status)s")  # it has an index in this order
    # The last document that is looked at comes too, whether it matches or not: the next page begins
    # behind it.
    found = _fetch(
        f"""SELECT time, looked, number = {most}, matches, {DOCUMENT_COLUMNS_SQL} FROM (
            SELECT *, row_number() OVER ({_ORDER}) AS number FROM (
                SELECT document.*, {asked.sort}_at AS time, id AS looked
                FROM "documents_document" AS document WHERE {" AND ".join(where)}
                {_ORDER} LIMIT {most}
            ) AS listed
        ) AS document
        CROSS JOIN LATERAL (SELECT coalesce({holds(asked)}, false) AS matches) AS checked
        WHERE matches OR number = {most} {_ORDER} LIMIT {limit + 1}
        """,  # noqa: S608 - made of constants
        given,
    )
    rows: list[list[Any]] = []
    position = following = searched_to = None
    for time, id, is_last, matches, *document in found:
        if matches and len(rows) == limit:
            following = position
            break
        position = DocumentPosition(time, id)
        if matches:
            rows.append(document)
        if is_last:
            following, searched_to = position, time if len(rows) < limit else None
    return SearchPage(rows, following, searched_to)


def _by_tokens(asked: Search, given: dict[str, Any], groups: int, limit: int) -> SearchPage | None:
    """The next that match, of all documents that have the tokens; None if these are too many."""
    hashes = (
        "SELECT documents_token(%(workspace)s, each) FROM unnest(%(tokens_{})s::text[]) AS each"
    )
    tokens = [f"tokens && ARRAY({hashes.format(n)})" for n in range(groups)]
    where = [
        *_behind(asked, given, "found", "document_id"),
        *within(asked, "found", is_sorted=False),
        "folded_title LIKE ALL (%(patterns)s::text[])",
    ]
    # The first row says whether there are too many. OFFSET 0: documents are read one by one, until
    # the page is full.
    found = _fetch(
        f"""SELECT time, looked, number > {MATCHES}, {DOCUMENT_COLUMNS_SQL} FROM (
            SELECT {asked.sort}_at AS time, document_id AS looked, number FROM (
                SELECT *, row_number() OVER () AS number
                FROM "documents_findable" WHERE {" AND ".join(tokens)} LIMIT {MATCHES + 1}
            ) AS found
            WHERE number > {MATCHES} OR ({" AND ".join(where)})
            ORDER BY number > {MATCHES} DESC, time DESC, looked DESC OFFSET 0
        ) AS found CROSS JOIN LATERAL (
            SELECT * FROM "documents_document" WHERE id = looked OFFSET 0
        ) AS document
        WHERE number > {MATCHES} OR ({VISIBLE} AND {holds(asked)}) LIMIT {limit + 1}
        """,  # noqa: S608 - made of constants
        given,
    )
    if found and found[0][2]:
        return None
    rows = [document for _, _, _, *document in found[:limit]]
    following = DocumentPosition(*found[limit - 1][:2]) if len(found) > limit else None
    return SearchPage(rows, following)


def _behind(asked: Search, given: dict[str, Any], table: str, id: str) -> list[str]:
    """Whether the table's row has the sorting time, within its range and behind the position."""
    time = f"{table}.{asked.sort}_at"
    found = [f"{time} IS NOT NULL", *within(asked, table, is_sorted=True)]
    if "after_id" in given:
        found.append(f"({time}, {table}.{id}) < (%(after_time)s, %(after_id)s)")
    return found


def _fetch(sql: str, parameters: dict[str, Any]) -> list[Any]:
    """Runs a statement that is planned for its values, not prepared: they decide what is quick."""
    with connection.cursor() as cursor:
        cursor.adapters.register_loader("timestamptz", TimestamptzLoader)  # in C, unlike Django's
        cursor.execute(_SETTINGS + sql, parameters)
        while cursor.nextset():
            pass
        rows: list[Any] = cursor.fetchall()
    return rows
