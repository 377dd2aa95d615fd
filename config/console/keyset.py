"""Keyset pages for lists of the admin, newest first: they neither count rows nor skip over them.

A position is the pair (created_at, id), which is unique. Rows that are added later come before it,
so paging towards older rows shows each row that existed at the start exactly once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Field, Q, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_KEYSET = ("created_at", "id")
_NEWEST_FIRST = ("-created_at", "-id")


@dataclass(frozen=True)
class Position:
    created_at: datetime
    id: Any

    def __str__(self) -> str:
        """As a URL parameter: microseconds since 1970, and the id."""
        return f"{(self.created_at - _EPOCH) // _MICROSECOND}.{self.id}"

    @classmethod
    def parse(cls, text: str, pk: "Field[Any, Any]") -> "Position":
        """The position that `str()` wrote; ValidationError if the text is anything else."""
        microseconds, _, id_text = text.partition(".")
        try:
            created_at = _EPOCH + int(microseconds) * _MICROSECOND
            return cls(created_at, pk.clean(id_text, None))
        except (ValueError, OverflowError, ValidationError):
            raise ValidationError("The page position in the URL is not valid.") from None


@dataclass(frozen=True)
class Page:
    """One page of a list, and where the adjacent pages begin; None if there is none."""

    rows: list[Any]
    newer: Position | None
    older: Position | None


def fetch(
    queryset: QuerySet[Any],
    alternatives: Sequence[Q],
    after: Position | None,
    count: int,
    *,
    newer: bool = False,
) -> list[Any]:
    """At most `count` rows that match any of the alternatives, the next ones after a position.

    Each alternative reads `count` entries of its own index. One condition with OR would read and
    sort all matching rows for each page.

    Args:
        newer: towards newer rows, nearest first, instead of older ones.
    """
    order = _KEYSET if newer else _NEWEST_FIRST
    if after is not None:
        comparison = TupleGreaterThan if newer else TupleLessThan
        queryset = queryset.filter(comparison(Tuple(*_KEYSET), (after.created_at, after.id)))
    if len(alternatives) == 1:
        return list(queryset.filter(alternatives[0]).order_by(*order)[:count])
    each = [queryset.filter(q).order_by(*order).values_list(*_KEYSET)[:count] for q in alternatives]
    found = each[0].union(*each[1:]).order_by(*order)[:count] if each else []
    return list(queryset.filter(pk__in=[pk for _, pk in found]).order_by(*order))


def page(
    queryset: QuerySet[Any],
    alternatives: Sequence[Q],
    *,
    after: Position | None,
    before: Position | None,
    size: int,
) -> Page:
    """The page that follows `after`, or the one that ends at `before`, or else the first one."""
    if before is not None:
        rows = fetch(queryset, alternatives, before, size + 1, newer=True)
        if len(rows) >= size:
            rows, more = rows[:size][::-1], len(rows) > size
            return Page(rows, _position(rows[0]) if more else None, _position(rows[-1]))
        after = None  # less than a page is left: show the whole first page
    rows = fetch(queryset, alternatives, after, size + 1)
    more, rows = len(rows) > size, rows[:size]
    newer = after and (_position(rows[0]) if rows else after)
    return Page(rows, newer, _position(rows[-1]) if more else None)


def _position(row: Any) -> Position:
    return Position(row.created_at, row.id)
