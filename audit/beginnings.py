"""Which names, titles and ids in the audit log begin with a text.

A list of all entries with such a name could not be read newest first from an index. So the search
first finds a few names, and then the entries with exactly these (`config.admin.keyset`).
"""

# ruff: noqa: S608 - the SQL is made of the constants of this file

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.lookups import Exact

from audit.models import DOWNLOADS, TITLE_LENGTH, Action, folded
from audit.scope import Scope

MOST = 10  # names of each kind that a search looks for
_RECENT = 4000  # entries in which the names of a workspace are looked for
_LAST = "\U0010ffff"  # sorts after any other character

_LISTED = f"NOT action = '{Action.DOWNLOAD_ENDED.value}'"
_RARE = f"NOT action IN {tuple(action.value for action in DOWNLOADS)}"


@dataclass(frozen=True)
class Kind:
    """What can begin with a text, `%(text)s`.

    Attributes:
        label: for users.
        value: SQL for what is compared; an index begins with it.
        first: SQL for the least value that begins so.
        last: SQL for the greatest one.
        condition: SQL for the index's condition.
        more: another column of the index, which tells apart those with the same value.
    """

    label: str
    value: str
    first: str
    last: str
    condition: str = "true"
    more: str | None = None

    @property
    def columns(self) -> str:
        return ", ".join(filter(None, (self.value, self.more)))


def _name(label: str, value: str, text: str, condition: str, more: str | None = None) -> Kind:
    first = f"upper({text})"
    return Kind(
        label, f'upper({value}) COLLATE "C"', first, f"{first} || '{_LAST}'", condition, more
    )


def _uuid(label: str, column: str) -> Kind:
    first, last = (f"(%(text)s || '-{d * 4}-{d * 4}-{d * 4}-{d * 12}')::uuid" for d in "0f")
    return Kind(label, column, first, last, f"{column} IS NOT NULL")


_TEXT = "%(text)s::text"
NAMES = {
    "key_name": _name("a key’s name", "key_name", _TEXT, _LISTED),
    "person": _name("a user’s login", "person", _TEXT, "NOT person = ''"),
    "member": _name("the login of a member or account", "member", _TEXT, "NOT member = ''"),
    "document_id": _name(
        "a document’s title",
        f'"left"(document_title, {TITLE_LENGTH})',
        f'"left"({_TEXT}, {TITLE_LENGTH})',
        f"{_LISTED} AND document_id IS NOT NULL",
        more="document_id",
    ),
}
IDS = {
    # Its digits are lower case, and "g" sorts after each of them.
    "request_id": Kind("a request id", "request_id", "%(text)s", "%(text)s || 'g'"),
    "document_id": _uuid("a document’s id", "document_id"),
    "key_id": _uuid("a key’s id", "key_id"),
    "workspace_id": _uuid("a workspace’s id", "workspace_id"),
}


def conditions_of_names(text: str, scope: Scope, kinds: dict[str, Kind]) -> dict[str, list[Q]]:
    """For each kind, a condition for each of the names that begin with the text, in any case.

    Of users who do not see everything, only the names in their workspaces' newest entries are
    looked at, since no index has a workspace's names in order.
    """
    rows: list[tuple[str, Any, Any, UUID | None]]
    if scope.everything:
        rows = [(*found, None) for found in _distinct(kinds, text)]
    else:
        rows = [*_recent(kinds, text, scope)]
    conditions: dict[str, list[Q]] = {kind: [] for kind in kinds}
    for kind, value, more, workspace_id in rows:
        condition = _equal(kind, more or value)
        if workspace_id and more is None:
            condition &= Q(workspace_id=workspace_id)
        conditions[kind].append(condition)
    return conditions


def conditions_of_ids(digits: str) -> list[Q]:
    """A condition for each of the ids that begin with 8 hexadecimal digits, in lower case."""
    return [Q(**{kind: value}) for kind, value, _ in _distinct(IDS, digits)]


def _equal(kind: str, value: Any) -> Q:
    if kind == "document_id":
        return Q(document_id=value)
    condition = Q(Exact(folded(kind), value))
    # As in the partial indexes.
    return condition if kind == "key_name" else condition & ~Q(**{kind: ""})


def _distinct(kinds: dict[str, Kind], text: str) -> list[tuple[str, Any, Any]]:
    """The first few values of each kind that begin so: each is one step in its index."""
    steps, parts = [], []
    for name, kind in kinds.items():
        columns = f"{kind.value} AS value, {kind.more or 'NULL::uuid'} AS more"
        select = f"SELECT {columns} FROM audit_auditentry WHERE {kind.condition} AND {kind.value}"
        order = f"ORDER BY {kind.columns} LIMIT 1"
        before = "before.value, before.more" if kind.more else "before.value"
        steps.append(
            f"of_{name} AS (({select} BETWEEN {kind.first} AND {kind.last} {order}) UNION ALL "
            f"SELECT following.* FROM of_{name} AS before, LATERAL ({select} <= {kind.last} "
            f"AND ({kind.columns}) > ({before}) {order}) AS following)"
        )
        # The texts and the ids in one column; the rest of a recursion is not computed.
        parts.append(f"(SELECT '{name}', value::text, more FROM of_{name} LIMIT {MOST})")
    sql = f"WITH RECURSIVE {', '.join(steps)} {' UNION ALL '.join(parts)}"
    with connection.cursor() as cursor:
        cursor.execute(sql, {"text": text})
        return list(cursor.fetchall())


def _recent(kinds: dict[str, Kind], text: str, scope: Scope) -> list[tuple[str, str, Any, UUID]]:
    """The names in each workspace's newest entries, and in the newest but downloads."""
    each = max(_RECENT // len(scope.workspaces), 50)
    parameters: dict[str, Any] = {"text": text}
    arms = []
    for number, workspace_id in enumerate(scope.workspaces):
        parameters[f"workspace{number}"] = workspace_id
        arms += [
            f"(SELECT * FROM audit_auditentry WHERE workspace_id = %(workspace{number})s "
            f"AND {condition} ORDER BY created_at DESC, id DESC LIMIT {each})"
            for condition in (_LISTED, _RARE)
        ]
    parts = [
        f"(SELECT DISTINCT '{name}', {kind.value} AS value, {kind.more or 'NULL::uuid'} AS more, "
        f"workspace_id FROM recent WHERE {kind.condition} "
        f"AND starts_with({kind.value}, {kind.first}) ORDER BY 2, 3, 4 LIMIT {MOST})"
        for name, kind in kinds.items()
    ]
    sql = f"WITH recent AS MATERIALIZED ({' UNION ALL '.join(arms)}) {' UNION ALL '.join(parts)}"
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())
