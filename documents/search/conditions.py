"""The conditions of a search as SQL: what holds for a document, and which documents an index has.

All SQL is made of constants; each `%(name)s` in it is one of `values`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from documents.api.documents import VISIBLE as VISIBLE_TO_KEY
from documents.models import RecipientStatus
from documents.search.parameters import Range, Search, spellings
from documents.search.words import Word

# With a workspace that the planner does not know: for one that has most documents of all, it would
# take the index of all workspaces, and might read the documents of others first.
VISIBLE = VISIBLE_TO_KEY.replace("%s", "(SELECT %(workspace)s::uuid)")
# OFFSET 0: PostgreSQL reads each by its id, however many it expects, and never all documents.
AMONG = '(SELECT * FROM "documents_document" WHERE id = ANY (%(among)s) OFFSET 0)'
_RECIPIENTS = '"documents_recipient" AS recipient WHERE'


class Source(NamedTuple):
    """Documents as an index has them.

    Attributes:
        rows: what follows FROM; whole documents if `each` is empty.
        time, id: their columns.
        each: what precedes the rows: they are those for each of some values in turn.
        in_order: whether the index has the rows, or those for each value, by that time.
    """

    rows: str
    time: str
    id: str
    each: str = ""
    in_order: bool = True


class Condition(NamedTuple):
    """One condition that documents must meet.

    Attributes:
        holds: whether `document` meets it.
        sources: each has all documents that may meet it, by their creation.
        is_far: whether to check it takes more than the document's row.
    """

    holds: str
    sources: list[Source]
    is_far: bool = False


def values(asked: Search, words: list[Word], workspace_id: UUID) -> dict[str, Any]:
    """The parameters of the conditions."""
    found: dict[str, Any] = {
        "workspace": workspace_id,
        "statuses": list(asked.statuses),
        "status": asked.statuses[0] if asked.statuses else None,
        "emails": spellings(asked.recipient) if asked.recipient else [],
        "states": [asked.recipient_status] if asked.recipient_status else RecipientStatus.values,
        "patterns": [f"%{word.part}%" for word in words],
    }
    for each in asked.ranges:
        found |= {f"{each.time}_first": each.first, f"{each.time}_end": each.end}
    for n, word in enumerate(words):
        found |= {f"first_{n}": word.first, f"spellings_{n}": word.spellings}
    return found


def by_time(sort: str, more: str = "true", documents: str = '"documents_document"') -> Source:
    """The documents of the workspace that have this time, and meet one more condition."""
    time = f"document.{sort}_at"
    rows = f"{documents} AS document WHERE {VISIBLE} AND {time} IS NOT NULL AND {more}"
    return Source(rows, time, "document.id")


def within(column: str, asked: Range) -> str:
    bounds = [f"{column} >= %({asked.time}_first)s"] if asked.first else []
    bounds += [f"{column} < %({asked.time}_end)s"] if asked.end else []
    return " AND ".join(bounds)


def conditions(asked: Search, words: list[Word]) -> Iterator[Condition]:
    """The conditions of a search but the range of the time by which it is sorted.

    Those that are last, and their last sources, are likely to have the fewest documents.

    Args:
        words: of the title, the longest last.
    """
    for each in asked.ranges:
        if each.time != asked.sort:
            holds = within(f"document.{each.time}_at", each)
            yield Condition(holds, [by_time("created", holds)._replace(in_order=False)])
    if asked.statuses:
        yield _of_status(asked.statuses)
    if asked.recipient or asked.recipient_status:
        yield _of_recipient(asked)
    if words:
        holds = "document.folded_title LIKE ALL (%(patterns)s::text[])"
        sources = [_of_word(n, each) for n, each in enumerate(words) if each.spellings is not None]
        yield Condition(holds, sources)


def _of_status(statuses: tuple[str, ...]) -> Condition:
    source = by_time("created", "document.status = %(status)s")
    if len(statuses) > 1:
        each = "unnest(%(statuses)s::text[]) AS asked (status) CROSS JOIN LATERAL"
        source = by_time("created", "document.status = asked.status")._replace(each=each)
    return Condition("document.status = ANY (%(statuses)s)", [source])


def _of_recipient(asked: Search) -> Condition:
    """The index of addresses has the documents by creation for each address and status."""
    matches, one = "recipient.status = ANY (%(states)s)", "recipient.status = asked.status"
    each = "unnest(%(states)s::text[]) AS asked (status) CROSS JOIN"
    if asked.recipient:
        emails = "SELECT lower(unnest(%(emails)s::text[]))"
        matches += f" AND lower(recipient.email) = ANY (ARRAY({emails}))"
        one += " AND lower(recipient.email) = given.email"
        each += f" ({emails}) AS given (email) CROSS JOIN"
    rows = f"{_RECIPIENTS} recipient.workspace_id = %(workspace)s AND {one}"
    time, id, each = "recipient.document_created_at", "recipient.document_id", f"{each} LATERAL"
    # OFFSET 0: PostgreSQL would otherwise collect the recipients of all documents.
    holds = f"EXISTS (SELECT FROM {_RECIPIENTS} {id} = document.id AND {matches} OFFSET 0)"
    return Condition(holds, [Source(rows, time, id, each)], is_far=True)


def _of_word(n: int, word: Word) -> Source:
    """The index of words has the documents by creation for each spelling, if those are few."""
    rows = '"documents_titleword" WHERE workspace_id = %(workspace)s AND word'
    time, id = "created_at", "document_id"
    if word.has_many:
        return Source(f"{rows} ^@ %(first_{n})s", time, id, in_order=False)
    each = f"unnest(%(spellings_{n})s::text[]) AS asked (word) CROSS JOIN LATERAL"
    return Source(f"{rows} = asked.word", time, id, each)
