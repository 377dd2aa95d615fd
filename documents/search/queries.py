"""Finds a page of a search.

The newest documents are looked at first: a frequent match fills its page there, or with further
ones. If not, an index finds all that may match: that of the tokens, or that of a time within one of
the ranges. They are counted. Many may stand together: documents are looked at from the newest of
them on. If these do not fill the page either, all are sorted. If each index finds more than
MATCHES, the page has what further documents have: fewer than asked for, or none.

So a page costs at most NEWEST and twice FURTHER documents, OUTDATED rows made twice, and MATCHES
rows of an index three times. The lists of the tokens have no bound, nor what vacuum has not yet
removed.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from documents.api.documents import DOCUMENT_COLUMNS_SQL, VISIBLE, DocumentPosition
from documents.search.conditions import HAS_WORDS, holds, tokens, values, within, words_of
from documents.search.parameters import Search

NEWEST, FURTHER = 1_000, 8_000  # documents looked at in their order, first and later
RECIPIENTS = 0.2  # of these if recipients are asked for: those of each document are looked up
MATCHES = 120_000  # documents of the index that are counted and sorted for a page
MANY = 8_000  # documents of the index that are looked for in the order before they are sorted
OUTDATED = 1_000  # changes that made a workspace's documents outdated

_VISIBLE = VISIBLE.replace("%s", "%(workspace)s")
_ORDER = "time DESC, looked DESC"
# An index has what is looked for, whatever the statistics of all workspaces say; a sort that cannot
# be avoided still runs. work_mem: the pages of MATCHES rows are remembered one by one.
_SETTINGS = """
    SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
    SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; SET LOCAL work_mem = '16MB';
"""
_FIRST_ID, _LAST_ID = UUID(int=0), UUID(int=2**128 - 1)

Given = dict[str, Any]  # the values of a statement
# The rows that an index finds, as SQL; whether they are all that match; what must hold for each.
Source = tuple[str, str, list[str]]


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
    start = {"time": end or "infinity", "id": _FIRST_ID}
    given = values(asked, words, workspace_id) | (after._asdict() if after else start)
    all_of, any_of = tokens(asked, words, given)
    given |= {"all": all_of, **any_of}
    page = _in_order(asked, given, NEWEST, limit)
    is_frequent = len(page.rows) >= limit / 5  # so further documents probably fill the page
    if page.searched_to and is_frequent:
        page = _in_order(asked, given, FURTHER, limit)
    if page.searched_to:
        page = _by_index(asked, given, list(any_of), limit) or page
    if page.searched_to and not is_frequent:
        page = _in_order(asked, given, FURTHER, limit)
    return page


def _by_index(asked: Search, given: Given, any_of: list[str], limit: int) -> SearchPage | None:
    """The next that match, of all that an index finds; None if none finds all of them."""
    sources = [_by_tokens(asked, given, any_of), _by_time(asked)]
    if len(given["all"]) + len(any_of) == 1:
        sources.reverse()  # counting what has one frequent token takes longer than a range
    behind = " AND ".join([*_behind(asked), *within(asked.ranges)])
    for rows, is_usable, where in chain.from_iterable(sources):
        few = f"(SELECT * FROM {rows} LIMIT {MATCHES + 1}) AS document"  # noqa: S608
        counted = f"""
            WITH source AS MATERIALIZED (SELECT {is_usable} AS is_usable)
            SELECT CASE WHEN (SELECT is_usable FROM source) THEN count(*) ELSE {MATCHES + 1} END,
                max({asked.sort}_at) FILTER (WHERE {behind})
            FROM {few} WHERE (SELECT is_usable FROM source)
        """  # noqa: S608 - made of constants
        number, time, page = _sorted(asked, given, few, where, counted, limit)
        if number > MATCHES:
            continue
        if number > MANY and time:
            # Of documents with the time of the position, those behind it.
            position = {} if time == given["time"] else {"time": time, "id": _LAST_ID}
            page = _in_order(asked, given | position, FURTHER, limit)
        if page.searched_to:
            # These two let it sort all of them, which are counted already.
            _, _, page = _sorted(asked, given, few, where, "SELECT 0, now()", limit)
        return page
    return None


def _in_order(asked: Search, given: Given, most: int, limit: int) -> SearchPage:
    """Those that match of the next documents, of at most so many."""
    if asked.recipient or asked.recipient_status:
        most = ceil(most * RECIPIENTS)
    where = [_VISIBLE, *_behind(asked)]
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


def _by_tokens(asked: Search, given: Given, any_of: list[str]) -> Iterator[Source]:
    """All that have the tokens, with the other conditions, unless too many are outdated."""
    hashes = "ARRAY(SELECT documents_token(%(workspace)s, each) FROM unnest(%({})s::text[]) each)"
    conditions = [f"tokens && {hashes.format(name)}" for name in any_of]
    # One condition for these: planning one for each could take 0.1 s.
    if given["all"]:
        conditions.append(f"tokens @> {hashes.format('all')}")
    if conditions:
        if asked.sort != "created":
            conditions.append(f"tokens @> ARRAY[documents_token(%(workspace)s, '{asked.sort}')]")
        having = f"WHERE {' AND '.join(conditions)}"
        where = [*within(asked.ranges), HAS_WORDS]
        of_workspace = "workspace_id = %(workspace)s OR workspace_id IS NULL"
        outdated = _count(f'"documents_outdated" WHERE {of_workspace}', OUTDATED)
        # Looking for some that are outdated takes a fifth of the time.
        yield f'"documents_searchable" {having}', f"{outdated} = 0", where
        some = f"{outdated} BETWEEN 1 AND {OUTDATED}"
        yield f"documents_findable(%(workspace)s) {having}", some, where


def _by_time(asked: Search) -> Iterator[Source]:
    """All within one of the ranges that has few enough, with the other conditions."""
    # Recipients are looked up for each document of a range.
    has_recipients = asked.recipient or asked.recipient_status
    most = ceil(FURTHER * RECIPIENTS) if has_recipients else MATCHES
    for each in asked.ranges:
        inside = " AND ".join([_VISIBLE, f"{each.time}_at IS NOT NULL", *within([each])])
        # In the order of the time's index, which PostgreSQL then reads.
        order = f"{each.time}_at DESC, id DESC"
        rows = f'"documents_document" AS document WHERE {inside} ORDER BY {order}'
        yield rows, f"{_count(rows, most)} <= {most}", [*holds(asked)]


def _count(rows: str, most: int) -> str:
    """SQL for how many rows there are; one more than `most` if there are even more."""
    return f"(SELECT count(*) FROM (SELECT FROM {rows} LIMIT {most + 1}) AS first)"  # noqa: S608


def _sorted(
    asked: Search, given: Given, few: str, where: list[str], counted: str, limit: int
) -> tuple[int, datetime | None, SearchPage]:
    """What `counted` selects; and the next that match, of all of them if these are not many."""
    where = [f"number <= {MANY} AND newest IS NOT NULL", *_behind(asked), *where]
    found = _fetch(
        f"""SELECT number, newest, time, looked, {DOCUMENT_COLUMNS_SQL}
        FROM ({counted}) AS counted (number, newest) LEFT JOIN LATERAL (
            SELECT {asked.sort}_at AS time, id AS looked
            FROM {few} WHERE {" AND ".join(where)} ORDER BY {_ORDER} LIMIT {limit + 1}
        ) AS found ON true
        LEFT JOIN "documents_document" AS document ON document.id = looked AND {_VISIBLE}
        ORDER BY {_ORDER}
        """,  # noqa: S608 - made of constants
        given,
    )
    rows = [document for _, _, _, _, *document in found[:limit] if document[0]]  # else it is gone
    number, newest, *_ = found[0]
    if len(found) <= limit:
        return number, newest, SearchPage(rows, None)
    _, _, time, looked, *_ = found[limit - 1]
    return number, newest, SearchPage(rows, DocumentPosition(time, looked))


def _behind(asked: Search) -> list[str]:
    """Whether the time that sorts is there, within its range, and behind the position."""
    ranges = [each._replace(end=None) for each in asked.ranges if each.time == asked.sort]
    behind = f"({asked.sort}_at, id) < (%(time)s, %(id)s)"
    return [f"{asked.sort}_at IS NOT NULL", *within(ranges), behind]


def _fetch(sql: str, parameters: dict[str, Any]) -> list[Any]:
    """Runs a statement that is planned for its values, not prepared: they decide what is quick."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS + sql, parameters)
        while cursor.nextset():
            pass
        return list(cursor.fetchall())
