"""Finds a page of a search.

First the newest documents are looked at: a frequent match fills its page there. If not, an index
finds all that may match: that of the tokens, or that of a time within one of the ranges. They are
counted, and sorted if they are no more than MATCHES. If no index finds so few, further documents
are looked at in their order: the page may then have fewer documents than asked for, or none.

So a page costs at most NEWEST and FURTHER documents, OUTDATED rows, and MATCHES rows of each index.
What has no bound are the index's lists of the tokens: they grow with the documents that have one.
"""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from documents.api.documents import DOCUMENT_COLUMNS_SQL, VISIBLE, DocumentPosition
from documents.search.conditions import HAS_WORDS, holds, tokens, values, within, words_of
from documents.search.parameters import Search

NEWEST, FURTHER = 1_000, 8_000  # documents looked at in their order, first and as a last resort
RECIPIENTS = 400  # instead of NEWEST if recipients are asked for: those of each are looked up
MATCHES = 120_000  # documents of the index that are sorted for a page
OUTDATED = 1_000  # changes that made a workspace's documents outdated

# With a workspace that the planner does not know: for one that has most documents of all, it would
# take the index of all workspaces, and might read the documents of others first.
_VISIBLE = VISIBLE.replace("%s", "(SELECT %(workspace)s::uuid)")
_ORDER = "time DESC, looked DESC"
# An index has what is looked for, whatever the statistics of all workspaces say; a sort that cannot
# be avoided still runs. work_mem: the pages of MATCHES rows are remembered one by one.
_SETTINGS = """
    SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
    SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; SET LOCAL work_mem = '16MB';
"""


class SearchPage(NamedTuple):
    rows: list[list[Any]]  # of the documents that match, with DOCUMENT_COLUMNS
    next: DocumentPosition | None  # the position behind the page; None if nothing more can follow
    searched_to: datetime | None = None  # how far was looked, if that is why the page is short


def search(
    workspace_id: UUID, asked: Search, after: DocumentPosition | None, limit: int
) -> SearchPage:
    """The next documents that match. Raises InvalidParameter for a title without usable words."""
    words = words_of(asked.title) if asked.title is not None else []
    given = values(asked, words, workspace_id)
    if after:
        given |= {"after_time": after.time, "after_id": after.id}
    has_recipients = asked.recipient or asked.recipient_status
    most = min(NEWEST, RECIPIENTS) if has_recipients else NEWEST
    page = _in_order(asked, given, most, limit)
    if page.searched_to and (groups := tokens(asked, words, given)):
        page = _by_tokens(asked, given, groups, limit) or page
    # A recipient would have to be looked up for each document of a range.
    if page.searched_to and not has_recipients:
        page = _by_time(asked, given, limit) or page
    return _in_order(asked, given, FURTHER, limit) if page.searched_to else page


def _in_order(asked: Search, given: dict[str, Any], most: int, limit: int) -> SearchPage:
    """Those that match of the next documents, of at most so many."""
    where = [_VISIBLE, *_behind(asked, given)]
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


def _by_tokens(
    asked: Search, given: dict[str, Any], groups: list[list[str]], limit: int
) -> SearchPage | None:
    """The next that match, of all that have the tokens; None if too many have, or are outdated."""
    hashes = "SELECT documents_token(%(workspace)s, each) FROM unnest(%({})s::text[]) AS each"
    any_of = {f"any_{n}": group for n, group in enumerate(groups) if len(group) > 1}
    conditions = [f"tokens && ARRAY({hashes.format(name)})" for name in any_of]
    # One condition for these: planning one for each could take 0.1 s.
    if all_of := [group[0] for group in groups if len(group) == 1]:
        conditions.append(f"tokens @> ARRAY({hashes.format('all')})")
    has_tokens = " AND ".join(conditions)
    given = given | any_of | {"all": all_of}
    of_workspace = "workspace_id = %(workspace)s OR workspace_id IS NULL"
    outdated = _count(f'"documents_outdated" WHERE {of_workspace}', OUTDATED, given)
    if outdated > OUTDATED:
        return None
    if _count(f'"documents_searchable" WHERE {has_tokens}', MATCHES, given) > MATCHES:
        return None
    # Looking for some that are outdated takes a fifth of the time.
    source = "documents_findable(%(workspace)s)" if outdated else '"documents_searchable"'
    return _sorted(asked, given, source, [has_tokens, *within(asked.ranges), HAS_WORDS], limit)


def _by_time(asked: Search, given: dict[str, Any], limit: int) -> SearchPage | None:
    """The next that match, of all within one of the ranges; None if each range has too many."""
    for each in asked.ranges:
        inside = " AND ".join([_VISIBLE, f"{each.time}_at IS NOT NULL", *within([each])])
        # In the order of the time's index, which PostgreSQL then reads.
        source = f""""documents_document" AS document WHERE {inside}
            ORDER BY {each.time}_at DESC, id DESC"""
        if _count(source, MATCHES, given) <= MATCHES:
            source = f"(SELECT * FROM {source} LIMIT {MATCHES + 1}) AS document"  # noqa: S608 - made of constants
            return _sorted(asked, given, source, [*holds(asked)], limit)
    return None


def _count(source: str, most: int, given: dict[str, Any]) -> int:
    """How many rows a source has; one more than `most` if there are even more."""
    sql = f"SELECT count(*) FROM (SELECT FROM {source} LIMIT {most + 1}) AS first"  # noqa: S608
    return int(_fetch(sql, given)[0][0])


def _sorted(
    asked: Search, given: dict[str, Any], source: str, where: list[str], limit: int
) -> SearchPage:
    """The next that match, of a source that has all of them."""
    where = [*_behind(asked, given), *where]
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


def _behind(asked: Search, given: dict[str, Any]) -> list[str]:
    """Whether the time that sorts is there, within its range, and behind the position."""
    sorts = [each for each in asked.ranges if each.time == asked.sort]
    if "after_id" not in given:
        return [f"{asked.sort}_at IS NOT NULL", *within(sorts)]
    # What is behind the position is before the range's end too. If PostgreSQL 18 knew both, it
    # would begin at the end, and read all that is before the position.
    sorts = [each._replace(end=None) for each in sorts]
    behind = f"({asked.sort}_at, id) < (%(after_time)s, %(after_id)s)"
    return [f"{asked.sort}_at IS NOT NULL", *within(sorts), behind]


def _fetch(sql: str, parameters: dict[str, Any]) -> list[Any]:
    """Runs a statement that is planned for its values, not prepared: they decide what is quick."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS + sql, parameters)
        while cursor.nextset():
            pass
        rows: list[Any] = cursor.fetchall()
    return rows
