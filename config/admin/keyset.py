"""Lists of the admin, newest first, walked from place to place: nothing is counted or skipped over.

A place is an object's (created_at, id), which no two share. What is added later stands before it,
so that a walk to the older ones meets each object that stood when it began exactly once.
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
_BOTH = ("created_at", "id")
_NEWEST_FIRST = ("-created_at", "-id")


@dataclass(frozen=True)
class Place:
    """Where one object stands in the order."""

    created_at: datetime
    id: Any

    def __str__(self) -> str:
        """As it stands in an address: microseconds since 1970, and the id."""
        return f"{(self.created_at - _EPOCH) // _MICROSECOND}.{self.id}"

    @classmethod
    def parse(cls, text: str, pk: "Field[Any, Any]") -> "Place":
        """The place that `str()` wrote, of an object whose primary key is `pk`.

        Raises:
            ValidationError: it is anything else.
        """
        microseconds, _, id_text = text.partition(".")
        try:
            created_at = _EPOCH + int(microseconds) * _MICROSECOND
            return cls(created_at, pk.clean(id_text, None))
        except (ValueError, OverflowError, ValidationError):
            raise ValidationError("This page’s address is not whole: begin anew.") from None


@dataclass(frozen=True)
class Page:
    """One page of a list, and where the pages beside it begin; None where there is none."""

    rows: list[Any]
    newer: Place | None
    older: Place | None


def walk(
    queryset: QuerySet[Any],
    ways: Sequence[Q],
    beyond: Place | None,
    count: int,
    *,
    newer: bool = False,
) -> list[Any]:
    """At most `count` objects that lie on any of `ways`, the next ones beyond a place.

    Each way has its index, which is read from the place on for `count` entries. As one condition
    with OR, all that is on any way would be read and sorted for each page.

    Args:
        newer: towards the newer ones, nearest first, instead of the older ones.
    """
    order = _BOTH if newer else _NEWEST_FIRST
    if beyond is not None:
        further = TupleGreaterThan if newer else TupleLessThan
        queryset = queryset.filter(further(Tuple(*_BOTH), (beyond.created_at, beyond.id)))
    if len(ways) == 1:
        return list(queryset.filter(ways[0]).order_by(*order)[:count])
    each = [queryset.filter(w).order_by(*order).values_list(*_BOTH)[:count] for w in ways]
    found = each[0].union(*each[1:]).order_by(*order)[:count] if each else []
    return list(queryset.filter(pk__in=[pk for _, pk in found]).order_by(*order))


def page(
    queryset: QuerySet[Any],
    ways: Sequence[Q],
    *,
    after: Place | None,
    before: Place | None,
    size: int,
) -> Page:
    """The page that follows `after`, or the one that ends at `before`, or else the first one."""
    if before is not None:
        rows = walk(queryset, ways, before, size + 1, newer=True)
        if len(rows) >= size:
            rows, more = rows[:size][::-1], len(rows) > size
            return Page(rows, _place(rows[0]) if more else None, _place(rows[-1]))
        after = None  # less than a page is left: the first one, whole
    rows = walk(queryset, ways, after, size + 1)
    more, rows = len(rows) > size, rows[:size]
    newer = after and (_place(rows[0]) if rows else after)
    return Page(rows, newer, _place(rows[-1]) if more else None)


def _place(row: Any) -> Place:
    return Place(row.created_at, row.id)
