"""Lists of what happened, newest first: their filters, their pages, and their one table.

Django's change list counts the table twice and uses OFFSET. Here a page follows a row, by the pair
(created_at, id), which is unique. Rows that are added later come before it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.choices import flatten_choices

from config.console.base import SectionList
from config.console.links import LOGS

AFTER, OPEN = "after", "open"  # URL parameters of a page, and of its opened row
PERIODS = {"24h": ("Last 24 hours", 1), "7d": ("Last 7 days", 7), "30d": ("Last 30 days", 30)}
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2999, 12, 31)  # Python has them in any zone
zone_names = cache(available_timezones)  # which opens 600 files
# What a chip shows of an id, if a row has it.
NAMES = {
    "workspace_id__exact": "workspace_name",
    "key_id__exact": "key_name",
    "document_id__exact": "document_title",
}


@dataclass(frozen=True)
class ListPage:
    rows: list[Any]
    older: Any = None  # the id of its last row, if there are older ones


def page_after(rows: QuerySet[Any], last: Any, size: int) -> ListPage:
    """The newest rows, or the newest of those that are older than a row."""
    if last is not None:
        # No comparison of rows: PostgreSQL 18 would begin at the end of the days, and read on.
        older = Q(created_at__lt=last.created_at) | Q(pk__lt=last.pk)
        rows = rows.filter(older, created_at__lte=last.created_at)
    found = list(rows.order_by("-created_at", "-id")[: size + 1])
    return ListPage(found[:size], found[size - 1].pk if len(found) > size else None)


def batches(rows: QuerySet[Any], size: int) -> Iterator[list[Any]]:
    """All rows, newest first. Each batch is one statement, so a slow reader holds no cursor."""
    page = page_after(rows, None, size)
    yield page.rows
    while page.older:
        page = page_after(rows, page.rows[-1], size)
        yield page.rows


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
    opened: Any  # the row that the URL opens

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        self.form = self.model_admin.get_filter_form(request)
        if not self.form.is_valid():
            return self.root_queryset.none()
        return self.root_queryset.filter(self.form.condition())

    def get_results(self, request: HttpRequest) -> None:
        self.request, self.opened = request, getattr(request, OPEN, None)
        self.one_workspace = self.model_admin.shows_one_workspace(request)
        page = self.get_page(self.last_row()) if self.form.is_valid() else ListPage([])
        self.result_list, self.result_count = page.rows, len(page.rows)
        self.older_url = self.address(after=page.older) if page.older else None

    def last_row(self) -> Any:
        """The row that the page follows; None, for the newest ones, if it is not known."""
        if AFTER not in self.params:
            return None
        try:
            return self.root_queryset.filter(pk=self.params[AFTER]).first()
        except (ValidationError, ValueError):
            return None

    def get_page(self, last: Any) -> ListPage:
        found = page_after(self.queryset, last, self.list_per_page)
        if self.opened is None or self.opened in found.rows:
            return found
        following = page_after(self.queryset, self.opened, self.list_per_page - 1)
        return ListPage([self.opened, *following.rows], following.older)

    def address(self, **changes: Any) -> str:
        """This list's query string with other parameters; None leaves one out."""
        parameters = {name: self.form.data.get(name) for name in self.form.fields} | changes
        return f"?{urlencode({name: value for name, value in parameters.items() if value})}"

    @property
    def lines(self) -> Iterator[dict[str, Any]]:
        """The rows with what the table shows of them; of the opened one, its facts too."""
        for row in self.result_list:
            is_open = row == self.opened
            yield {
                "row": row,
                "line": self.model_admin.line(self.request, row),
                "url": self.address(after=self.params.get(AFTER), open=None if is_open else row.pk),
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
