"""The conditions of a search as SQL: what holds for a document, and which documents an index has.

All SQL is made of constants; values are its parameters.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from documents.api.queries import VISIBLE
from documents.models import RecipientStatus
from documents.search.parameters import Range, Search

LAST = "\U0010ffff"  # comes after each character of a word
# A workspace that the planner does not know: for one that has most documents of all workspaces, it
# would take the index of all, and might read those of others first.
OWN = VISIBLE.format(workspace="(SELECT %s::uuid)")
_DOCUMENTS = f'"documents_document" AS document WHERE {OWN}'
# OFFSET 0: PostgreSQL reads each by its id, however many it expects, and never all documents.
_AMONG = f"""unnest(%s::uuid[]) AS among (id) CROSS JOIN LATERAL (
    SELECT * FROM "documents_document" WHERE id = among.id OFFSET 0
) AS document WHERE {OWN}"""  # noqa: S608 - made of constants


class Sql(NamedTuple):
    """A part of a statement, with `%s` for each of its values."""

    text: str
    values: tuple[object, ...] = ()


class Newest(NamedTuple):
    """An index that has documents by a time.

    Attributes:
        time, id: its columns.
        rows: what follows FROM, with the first conditions.
        each: what `rows` calls `every.one` is each of these in turn; None for no such condition.
        of_documents: whether the rows are the documents themselves.
    """

    time: str
    id: str
    rows: Sql
    each: list[str] | None = None
    of_documents: bool = False


class Condition(NamedTuple):
    """One condition that documents must meet.

    Attributes:
        holds: whether `document` meets it.
        found: the ids of the documents that do, in any order; an index has them.
        newest: an index that has the same documents by their creation.
        word: the beginning of the title's words that `newest.each` is to be.
        cost: of the check of one document, in microseconds.
    """

    holds: Sql
    found: Sql
    newest: Newest | None = None
    word: str = ""
    cost: float = 0.1


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
        words: of the title that is searched for.
    """
    for each in asked.ranges:
        if each.time != asked.sort:
            holds = within(f"document.{each.time}_at", each)
            found = f"SELECT document.id FROM {_DOCUMENTS} AND {holds.text}"  # noqa: S608
            yield Condition(holds, Sql(found, (workspace_id, *holds.values)))
    if asked.statuses:
        yield _of_status(list(asked.statuses), workspace_id)
    if asked.recipient or asked.recipient_status:
        yield _of_recipient(asked, workspace_id)
    for word in words:
        yield _of_word(word, workspace_id)


def _of_status(statuses: list[str], workspace_id: UUID) -> Condition:
    holds, each = "document.status = ANY (%s)", statuses if len(statuses) > 1 else None
    one = f"{_DOCUMENTS} AND document.status = {'every.one' if each else '%s'}"
    rows = Sql(one, (workspace_id,) if each else (workspace_id, *statuses))
    return Condition(
        Sql(holds, (statuses,)),
        Sql(f"SELECT document.id FROM {_DOCUMENTS} AND {holds}", (workspace_id, statuses)),  # noqa: S608
        Newest("document.created_at", "document.id", rows, each, of_documents=True),
    )


def _of_recipient(asked: Search, workspace_id: UUID) -> Condition:
    bounds = (
        ("lower(recipient.email) = lower(%s)", asked.recipient),
        ("recipient.status = %s", asked.recipient_status),
    )
    matches, values = all_of(Sql(text, (value,)) for text, value in bounds if value is not None)
    table = '"documents_recipient" AS recipient WHERE'
    rows = Sql(f"{table} recipient.workspace_id = %s AND {matches}", (workspace_id, *values))
    # OFFSET 0: PostgreSQL would otherwise collect the recipients of all documents.
    holds = f"""EXISTS (
        SELECT FROM {table} recipient.document_id = document.id AND {matches} OFFSET 0)"""
    # The index of addresses has the documents by creation for each status.
    each = None if asked.recipient_status else list(RecipientStatus.values)
    every = f"{rows.text} AND recipient.status = every.one" if each else rows.text
    return Condition(
        Sql(holds, values),
        Sql(f"SELECT recipient.document_id FROM {rows.text}", rows.values),  # noqa: S608
        Newest(
            "recipient.document_created_at",
            "recipient.document_id",
            Sql(every, rows.values),
            each,
        ),
        cost=2,
    )


def _of_word(word: str, workspace_id: UUID) -> Condition:
    table = '"documents_titleword" AS title WHERE title.workspace_id = %s AND title.word'
    one = Sql(f"{table} = every.one", (workspace_id,))
    return Condition(
        Sql("documents_folded(document.title) LIKE %s", (f"% {word}%",)),
        Sql(
            f"SELECT title.document_id FROM {table} >= %s AND title.word < %s",  # noqa: S608
            (workspace_id, word, word + LAST),
        ),
        Newest("title.created_at", "title.document_id", one),
        word,
        cost=4,
    )
