"""Lists of what happened, newest first: their filters, their pages, and their one table.

Django's change list counts the table twice and uses OFFSET. Here a page begins at a position: the
pair (created_at, id), which is unique. Rows that are added later come before it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Field, Q, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.choices import flatten_choices

from config.console.base import SectionList
from config.console.links import LOGS

AFTER, BEFORE, OPEN = "after", "before", "open"  # URL parameters of a page, and of its opened row
PERIODS = {"24h": ("Last 24 hours", 1), "7d": ("Last 7 days", 7), "30d": ("Last 30 days", 30)}
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2999, 12, 31)  # Python has them in any zone
zone_names = cache(available_timezones)  # which opens 600 files
# What a chip shows of an id, if a row has it.
NAMES = {
    "workspace_id__exact": "workspace_name",
    "key_id__exact": "key_name",
    "document_id__exact": "document_title",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_KEYSET, _NEWEST_FIRST = ("created_at", "id"), ("-created_at", "-id")


@dataclass(frozen=True)
class Position:
    created_at: datetime
    id: Any

    def __str__(self) -> str:
        """As a URL parameter: microseconds since 1970, and the id."""
        return f"{(self.created_at - _EPOCH) // _MICROSECOND}.{self.id}"

    @classmethod
    def of(cls, row: Any) -> "Position":
        return cls(row.created_at, row.pk)

    @classmethod
    def parse(cls, text: str, pk: "Field[Any, Any]") -> "Position":
        """The position that `str()` wrote; ValidationError if the text is anything else."""
        microseconds, _, id = text.partition(".")
        try:
            return cls(_EPOCH + int(microseconds) * _MICROSECOND, pk.clean(id, None))
        except (ValueError, OverflowError, ValidationError):
            raise ValidationError("The page position in the URL is not valid.") from None


@dataclass(frozen=True)
class ListPage:
    rows: list[Any]
    newer: Position | None = None  # where the newer page begins, if there is one
    older: Position | None = None


def fetch(
    rows: QuerySet[Any], after: Position | None, count: int, *, newer: bool = False
) -> list[Any]:
    """At most `count` rows that follow a position, nearest first."""
    if after is not None:
        comparison = TupleGreaterThan if newer else TupleLessThan
        rows = rows.filter(comparison(Tuple(*_KEYSET), (after.created_at, after.id)))
    return list(rows.order_by(*(_KEYSET if newer else _NEWEST_FIRST))[:count])


def page_at(
    rows: QuerySet[Any], after: Position | None, before: Position | None, size: int
) -> ListPage:
    """The page that follows `after`, or the one that ends at `before`, or else the first one."""
    if before is not None:
        found = fetch(rows, before, size + 1, newer=True)
        if len(found) >= size:
            more, found = len(found) > size, found[:size][::-1]
            return ListPage(found, Position.of(found[0]) if more else None, Position.of(found[-1]))
        after = None  # less than a page is left: show the whole first page
    found = fetch(rows, after, size + 1)
    more, found = len(found) > size, found[:size]
    newer = after and (Position.of(found[0]) if found else after)
    return ListPage(found, newer, Position.of(found[-1]) if more else None)


def batches(rows: QuerySet[Any], size: int) -> Iterator[list[Any]]:
    """All rows, newest first. Each batch is one statement, so a slow reader holds no cursor."""
    position = None
    while found := fetch(rows, position, size):
        yield found
        if len(found) < size:
            return
        position = Position.of(found[-1])


def any_of(label: str, choices: Iterable[Any], widget: Any = forms.Select) -> forms.ChoiceField:
    """A filter by one of these values, or by none."""
    named = [("", "Any"), *choices]
    return forms.ChoiceField(label=label, required=False, choices=named, widget=widget)


def day(label: str) -> forms.DateField:
    widget = forms.DateInput({"type": "date", "max": str(LAST_DAY)}, format="%Y-%m-%d")
    limits = [MinValueValidator(FIRST_DAY), MaxValueValidator(LAST_DAY)]
    return forms.DateField(label=label, required=False, widget=widget, validators=limits)


def linked(label: str, field: type[forms.Field] = forms.UUIDField) -> forms.Field:
    """A filter that only links set."""
    return field(label=label, required=False, widget=forms.HiddenInput)


class LogFilter(forms.Form):
    """The filters of a list; a field's name may be a condition of Django's: `status__exact`.

    Days are those of a zone, which `times.js` sets; UTC without it.
    """

    workspace_id__exact = linked("Workspace")
    since, until = day("From"), day("To, inclusive")
    zone = linked("Time zone", forms.CharField)
    within = any_of("Time", [(each, PERIODS[each][0]) for each in PERIODS], forms.HiddenInput)

    def clean_zone(self) -> str:
        zone: str = self.cleaned_data["zone"] or "UTC"
        if zone not in zone_names():
            raise ValidationError("No time zone has this name.")
        return zone

    def clean(self) -> None:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and since > until:
            raise ValidationError("“From” is after “To”.")

    def condition(self) -> Q:
        values = self.cleaned_data.items()
        found = Q(**{name: value for name, value in values if name.endswith("__exact") and value})
        first, end = self.bounds()
        if first:
            found &= Q(created_at__gte=first)
        return found & Q(created_at__lt=end) if end else found

    def bounds(self) -> tuple[datetime | None, datetime | None]:
        """The first moment of the days that are shown, and the one after the last."""
        values, zone = self.cleaned_data, ZoneInfo(self.cleaned_data["zone"])
        until = values["until"] and values["until"] + timedelta(days=1)
        first, end = (
            datetime.combine(each, time.min, zone) if each else None
            for each in (values["since"], until)
        )
        if values["within"]:
            _, days = PERIODS[values["within"]]
            first = max(filter(None, (first, timezone.now() - timedelta(days=days))))
        return first, end

    @property
    def nothing(self) -> str:
        return "Nothing matches."

    def in_words(self, name: str) -> str:
        """What a field shows for its value."""
        value = self[name].value()
        choices: Any = getattr(self.fields[name], "choices", ())
        return str(dict(flatten_choices(choices)).get(value, value))


@dataclass(frozen=True)
class Line:
    """A row as the table of logs shows it. Texts may be HTML."""

    word: str  # what happened, in a word or two
    colour: str  # "ok", "warn", "bad" or ""
    who: str
    what: str  # which, and why


class LogChangeList(SectionList):
    """Django's change list with our filters and pages: empty if a filter is not valid."""

    search_form_class = forms.Form
    model_admin: Any
    form: LogFilter
    page: ListPage
    opened: Any  # the row that the URL opens

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        self.form = self.model_admin.get_filter_form(request)
        if not self.form.is_valid():
            return self.root_queryset.none()
        return self.root_queryset.filter(self.form.condition())

    def get_results(self, request: HttpRequest) -> None:
        self.request, self.opened = request, getattr(request, OPEN, None)
        self.one_workspace = self.model_admin.shows_one_workspace(request)
        self.page = self.get_page(self._position(AFTER), self._position(BEFORE))
        self.result_list, self.result_count = self.page.rows, len(self.page.rows)

    def get_page(self, after: Position | None, before: Position | None) -> ListPage:
        if not self.form.is_valid():
            return ListPage([])
        found = page_at(self.queryset, after, before, self.list_per_page)
        if self.opened is None or self.opened in found.rows:
            return found
        first = Position.of(self.opened)
        following = page_at(self.queryset, first, None, self.list_per_page - 1)
        return ListPage([self.opened, *following.rows], first, following.older)

    def _position(self, name: str) -> Position | None:
        """The position in a URL parameter; a malformed one is an error of the form."""
        if name not in self.params:
            return None
        try:
            return Position.parse(self.params[name], self.model._meta.pk)
        except ValidationError as exc:
            self.form.add_error(None, exc)
            return None

    def address(self, **changes: Any) -> str:
        """This list's query string with other parameters; None leaves one out."""
        parameters = {name: self.form.data.get(name) for name in self.form.fields} | changes
        return f"?{urlencode({name: value for name, value in parameters.items() if value})}"

    @property
    def lines(self) -> Iterator[dict[str, Any]]:
        """The rows with what the table shows of them; of the opened one, its facts too."""
        here = {name: self.params.get(name) for name in (AFTER, BEFORE)}
        for row in self.result_list:
            is_open = row == self.opened
            yield {
                "row": row,
                "line": self.model_admin.line(self.request, row),
                "url": self.address(**here, **{OPEN: None if is_open else row.pk}),
                "details": self.model_admin.details(self.request, row) if is_open else "",
            }

    @property
    def chips(self) -> list[dict[str, Any]]:
        """The filters that are set."""
        hidden = {"q", "zone"}
        if self.one_workspace:
            hidden.add("workspace_id__exact")
        found = []
        for name, field in self.form.fields.items():
            if not self.form[name].value() or name in hidden:
                continue
            text = self.form.in_words(name)
            if name in NAMES and self.result_list:
                text = str(getattr(self.result_list[0], NAMES[name]))
            found.append({"label": field.label, "text": text, "url": self.address(**{name: None})})
        return found

    @property
    def periods(self) -> list[tuple[str, str, bool]]:
        """Texts, URLs, and whether they are chosen."""
        chosen = self.form.data.get("within")
        return [
            (text, self.address(within=name, since=None, until=None), name == chosen)
            for name, (text, _) in PERIODS.items()
        ]

    @property
    def logs(self) -> list[tuple[str, str, bool]]:
        """The logs with these filters, as far as they have them: as `periods`."""
        here = (self.model_admin.url_name("changelist"), self.form.data.get("kind", ""))
        return [
            (text, f"{reverse(name)}{self.address(kind=kind)}", (name, kind) == here)
            for text, (name, kind) in LOGS.items()
        ]

    @property
    def newer_url(self) -> str | None:
        return self.address(**{BEFORE: self.page.newer}) if self.page.newer else None

    @property
    def older_url(self) -> str | None:
        return self.address(**{AFTER: self.page.older}) if self.page.older else None

    @property
    def empty_text(self) -> str:
        is_whole = self.address() == "?" and AFTER not in self.params
        return self.model_admin.empty_text if is_whole else self.form.nothing
