"""The conditions of a search as SQL: what holds for a document, and which documents an index has.

All SQL is made of constants; values are its parameters.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from documents.api.queries import VISIBLE_UNKNOWN as VISIBLE
from documents.models import RecipientStatus
from documents.search.parameters import Range, Search, spellings

MARK = "\ue000"  # begins a word of a script that writes no spaces (`documents/search.sql`)
LAST = "\U0010ffff"  # comes after each character of a word
_DOCUMENTS = f'"documents_document" AS document WHERE {VISIBLE}'
# OFFSET 0: PostgreSQL reads each by its id, however many it expects, and never all documents.
_AMONG = f"""unnest(%s::uuid[]) AS among (id) CROSS JOIN LATERAL (
    SELECT * FROM "documents_document" WHERE id = among.id OFFSET 0
) AS document WHERE {VISIBLE}"""  # noqa: S608 - made of constants


class Sql(NamedTuple):
    """A part of a statement, with `%s` for each of its values."""

    text: str
    values: tuple[object, ...] = ()


class Newest(NamedTuple):
    """An index that has documents by a time.

    Attributes:
        time, id: its columns.
        rows: what follows FROM, with the first conditions.
        each: what `rows` calls `every.one` and `every.other` are each of these in turn; None for
            no such condition.
        of_documents: whether the rows are the documents themselves.
    """

    time: str
    id: str
    rows: Sql
    each: list[tuple[str, str]] | None = None
    of_documents: bool = False


class Index(NamedTuple):
    """An index that leads to the documents that may meet a condition.

    Attributes:
        found: their ids, in any order.
        newest: the same documents by their creation, if it has them so.
        word: the beginning of the title's words that `newest.each` is to be.
    """

    found: Sql
    newest: Newest | None = None
    word: str = ""


class Condition(NamedTuple):
    """One condition that documents must meet.

    Attributes:
        holds: whether `document` meets it.
        indexes: each leads to all documents that do.
        is_far: whether to check it takes more than the times and status of a document's row.
    """

    holds: Sql
    indexes: list[Index]
    is_far: bool = False


def all_of(parts: Iterable[Sql]) -> Sql:
    """Whether all of some conditions hold; there is at least one."""
    texts, values = zip(*parts, strict=True)
    return Sql(" AND ".join(texts), tuple(chain.from_iterable(values)))


def by_time(sort: str, workspace_id: UUID, among: list[UUID] | None = None) -> Newest:
    """The documents of the workspace that have this time: all of them, or those among some."""
    column = f"document.{sort}_at"
    rows, values = (_DOCUMENTS, ()) if among is None else (_AMONG, (among,))
    visible = Sql(f"{rows} AND {column} IS NOT NULL", (*values, workspace_id))
    return Newest(column, "document.id", visible, of_documents=True)


def within(column: str, asked: Range) -> Sql:
    """Whether a column is within a range."""
    bounds = ((f"{column} >= %s", asked.first), (f"{column} < %s", asked.end))
    return all_of(Sql(text, (value,)) for text, value in bounds if value is not None)


def conditions(asked: Search, words: list[str], workspace_id: UUID) -> Iterator[Condition]:
    """The conditions of a search but the range of the time by which it is sorted.

    Those whose check costs least come first.

    Args:
        words: of the title that is searched for, the longest last.
    """
    for each in asked.ranges:
        if each.time != asked.sort:
            holds = within(f"document.{each.time}_at", each)
            found = f"SELECT document.id FROM {_DOCUMENTS} AND {holds.text}"  # noqa: S608
            yield Condition(holds, [Index(Sql(found, (workspace_id, *holds.values)))])
    if asked.statuses:
        yield _of_status(list(asked.statuses), workspace_id)
    if asked.recipient or asked.recipient_status:
        yield _of_recipient(asked, workspace_id)
    if words:
        # Of the shorter words hardly one is rare.
        indexes = [_index_of_word(word, workspace_id) for word in words[-3:]]
        patterns = [f"%{w[1:]}%" if w[0] == MARK else f"% {w}%" for w in words]
        holds = Sql("documents_folded(document.title) LIKE ALL (%s::text[])", (patterns,))
        yield Condition(holds, indexes, is_far=True)


def _of_status(statuses: list[str], workspace_id: UUID) -> Condition:
    holds = "document.status = ANY (%s)"
    found = f"SELECT document.id FROM {_DOCUMENTS} AND {holds}"  # noqa: S608
    each = [(status, "") for status in statuses] if len(statuses) > 1 else None
    one = f"{_DOCUMENTS} AND document.status = {'every.one' if each else '%s'}"
    rows = Sql(one, (workspace_id,) if each else (workspace_id, *statuses))
    newest = Newest("document.created_at", "document.id", rows, each, of_documents=True)
    return Condition(Sql(holds, (statuses,)), [Index(Sql(found, (workspace_id, statuses)), newest)])


def _of_recipient(asked: Search, workspace_id: UUID) -> Condition:
    """The index of addresses has the documents by creation for each address and status."""
    addresses = spellings(asked.recipient) if asked.recipient else []
    statuses = [asked.recipient_status] if asked.recipient_status else RecipientStatus.values
    parts = []
    if addresses:
        any_of = ", ".join(["lower(%s)"] * len(addresses))
        parts.append(Sql(f"lower(recipient.email) IN ({any_of})", tuple(addresses)))
    if asked.recipient_status:
        parts.append(Sql("recipient.status = %s", (asked.recipient_status,)))
    matches, values = all_of(parts)
    table = '"documents_recipient" AS recipient WHERE'
    own = f"{table} recipient.workspace_id = %s AND"
    rows, each = Sql(f"{own} {matches}", (workspace_id, *values)), None
    if addresses:
        each = [(status, address) for address in addresses for status in statuses]
        one = "recipient.status = every.one AND lower(recipient.email) = lower(every.other)"
        rows = Sql(f"{own} {one}", (workspace_id,))
    time, id = "recipient.document_created_at", "recipient.document_id"
    found = Sql(f"SELECT {id} FROM {own} {matches}", (workspace_id, *values))  # noqa: S608
    # OFFSET 0: PostgreSQL would otherwise collect the recipients of all documents.
    holds = f"EXISTS (SELECT FROM {table} {id} = document.id AND {matches} OFFSET 0)"
    index = Index(found, Newest(time, id, rows, each))
    return Condition(Sql(holds, values), [index], is_far=True)


def _index_of_word(word: str, workspace_id: UUID) -> Index:
    """The index of titles' words; of a script without spaces it has each two signs."""
    first = word[1:3] if word[0] == MARK else word
    table = '"documents_titleword" AS title WHERE title.workspace_id = %s AND title.word'
    found = f"SELECT title.document_id FROM {table} >= %s AND title.word < %s"  # noqa: S608
    rows = Sql(f"{table} = every.one", (workspace_id,))
    newest = Newest("title.created_at", "title.document_id", rows)
    return Index(Sql(found, (workspace_id, first, first + LAST)), newest, first)
