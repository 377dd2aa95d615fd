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
Source = tuple[str, list[str]]  # has all that match; and what must hold for each


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
    page = _in_order(asked, given, NEWEST, limit)
    is_frequent = len(page.rows) >= limit / 5  # so further documents probably fill the page
    if page.searched_to and is_frequent:
        page = _in_order(asked, given, FURTHER, limit)
    if page.searched_to:
        page = _by_index(asked, given, tokens(asked, words, given), limit) or page
    if page.searched_to and not is_frequent:
        page = _in_order(asked, given, FURTHER, limit)
    return page


def _by_index(
    asked: Search, given: Given, groups: list[list[str]], limit: int
) -> SearchPage | None:
    """The next that match, of all that an index finds; None if each index finds too many."""
    behind = " AND ".join([*_behind(asked), *within(asked.ranges)])
    newest = f"max({asked.sort}_at) FILTER (WHERE {behind})"
    sources = [_by_tokens(asked, given, groups), _by_time(asked, given)]
    if len(groups) == 1:
        sources.reverse()  # counting what has one frequent token takes longer than a range
    for source, where in chain.from_iterable(sources):
        few = f"(SELECT * FROM {source} LIMIT {MATCHES + 1}) AS document"  # noqa: S608 - made of constants
        [(number, time)] = _fetch(f"SELECT count(*), {newest} FROM {few}", given)  # noqa: S608
        if number > MATCHES:
            continue
        if not time:
            return SearchPage([], None)
        if number > MANY:
            # Of documents with the time of the position, those behind it.
            position = {} if time == given["time"] else {"time": time, "id": _LAST_ID}
            page = _in_order(asked, given | position, FURTHER, limit)
            if not page.searched_to:
                return page
        return _sorted(asked, given, few, where, limit)
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


def _by_tokens(asked: Search, given: Given, groups: list[list[str]]) -> Iterator[Source]:
    """All that have the tokens, with the other conditions; none if too many are outdated.

    It adds the tokens to `given`.
    """
    hashes = "SELECT documents_token(%(workspace)s, each) FROM unnest(%({})s::text[]) AS each"
    if groups and asked.sort != "created":
        groups = [*groups, [asked.sort]]
    any_of = {f"any_{n}": group for n, group in enumerate(groups) if len(group) > 1}
    conditions = [f"tokens && ARRAY({hashes.format(name)})" for name in any_of]
    # One condition for these: planning one for each could take 0.1 s.
    if all_of := [group[0] for group in groups if len(group) == 1]:
        conditions.append(f"tokens @> ARRAY({hashes.format('all')})")
    given |= any_of | {"all": all_of}
    of_workspace = "workspace_id = %(workspace)s OR workspace_id IS NULL"
    outdated = _count(f'"documents_outdated" WHERE {of_workspace}', OUTDATED, given)
    if conditions and outdated <= OUTDATED:
        # Looking for some that are outdated takes a fifth of the time.
        table = "documents_findable(%(workspace)s)" if outdated else '"documents_searchable"'
        yield f"{table} WHERE {' AND '.join(conditions)}", [*within(asked.ranges), HAS_WORDS]


def _by_time(asked: Search, given: Given) -> Iterator[Source]:
    """All within one of the ranges that has few enough, with the other conditions."""
    # Recipients are looked up for each document of a range.
    has_recipients = asked.recipient or asked.recipient_status
    most = ceil(FURTHER * RECIPIENTS) if has_recipients else MATCHES
    for each in asked.ranges:
        inside = " AND ".join([_VISIBLE, f"{each.time}_at IS NOT NULL", *within([each])])
        # In the order of the time's index, which PostgreSQL then reads.
        order = f"{each.time}_at DESC, id DESC"
        source = f'"documents_document" AS document WHERE {inside} ORDER BY {order}'
        if _count(source, most, given) <= most:
            yield source, [*holds(asked)]


def _count(source: str, most: int, given: Given) -> int:
    """How many rows a source has; one more than `most` if there are even more."""
    sql = f"SELECT count(*) FROM (SELECT FROM {source} LIMIT {most + 1}) AS first"  # noqa: S608
    return int(_fetch(sql, given)[0][0])


def _sorted(asked: Search, given: Given, source: str, where: list[str], limit: int) -> SearchPage:
    """The next that match, of a source that has all of them."""
    where = [*_behind(asked), *where]
    found = _fetch(
        f"""SELECT time, looked, {DOCUMENT_COLUMNS_SQL} FROM (
            SELECT {asked.sort}_at AS time, id AS looked
            FROM {source} WHERE {" AND ".join(where)} ORDER BY {_ORDER} LIMIT {limit + 1}
        ) AS found LEFT JOIN "documents_document" AS document ON document.id = looked AND {_VISIBLE}
        ORDER BY {_ORDER}
        """,  # noqa: S608 - made of constants
        given,
    )
    rows = [document for _, _, *document in found[:limit] if document[0]]  # else it is gone
    return SearchPage(rows, DocumentPosition(*found[limit - 1][:2]) if len(found) > limit else None)


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
