"""Lists of what happened, newest first: their filters, their pages, and their one table.

Django's change list counts the table twice and uses OFFSET. Here a page begins at a position: the
pair (created_at, id), which is unique. Rows that are added later come before it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Field, Q, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.choices import flatten_choices
from django.utils.safestring import SafeString

from config.console.base import SectionAdmin
from config.console.identify import Kind
from config.console.links import LOGS, filtered

AFTER, BEFORE, OPEN = "after", "before", "open"  # URL parameters of a page, and of its opened row
PERIODS = {"24h": ("Last 24 hours", 1), "7d": ("Last 7 days", 7), "30d": ("Last 30 days", 30)}
YEARS = range(2000, 3000)  # in any zone, their days are times that PostgreSQL and Python have
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


def page_from(rows: QuerySet[Any], first: Any, size: int) -> ListPage:
    found = [first, *fetch(rows, Position.of(first), size)]
    older = Position.of(found[size - 1]) if len(found) > size else None
    return ListPage(found[:size], Position.of(first), older)


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
    widget = forms.DateInput({"type": "date", "max": "2999-12-31"}, format="%Y-%m-%d")
    return forms.DateField(label=label, required=False, widget=widget)


def linked(label: str, field: type[forms.Field] = forms.UUIDField) -> forms.Field:
    """A filter that only links set."""
    return field(label=label, required=False, widget=forms.HiddenInput)


class ListFilter(forms.Form):
    """The filters of a list; a field's name is a condition of Django's: `status__exact`."""

    def in_words(self, name: str) -> str:
        """What a field shows for its value."""
        value = self[name].value()
        choices: Any = getattr(self.fields[name], "choices", ())
        return str(dict(flatten_choices(choices)).get(value, value))

    @property
    def nothing(self) -> str:
        return "Nothing matches."

    def condition(self) -> Q:
        values = self.cleaned_data.items()
        return Q(**{name: value for name, value in values if name.endswith("__exact") and value})


class LogFilter(ListFilter):
    """Days are those of a zone, which `times.js` sets; UTC without it."""

    workspace_id__exact = linked("Workspace")
    since, until = day("From"), day("To, inclusive")
    zone = linked("Time zone", forms.CharField)
    within = any_of("Time", [(each, PERIODS[each][0]) for each in PERIODS], forms.HiddenInput)

    def clean_zone(self) -> str:
        zone: str = self.cleaned_data["zone"] or "UTC"
        if zone not in available_timezones():
            raise ValidationError("No time zone has this name.")
        return zone

    def clean(self) -> None:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if not all(each.year in YEARS for each in (since, until) if each):
            raise ValidationError("The year must have four digits, and begin with a 2.")
        if since and until and since > until:
            raise ValidationError("“From” is after “To”.")

    def condition(self) -> Q:
        first, end = self.bounds()
        found = super().condition()
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


@dataclass(frozen=True)
class Line:
    """A row as the table of logs shows it. Texts may be HTML."""

    word: str  # what happened, in a word or two
    colour: str  # "ok", "warn", "bad" or ""
    who: str
    what: str  # which, and why


class LogChangeList(ChangeList):
    """Django's change list with our filters and pages: empty if a filter is not valid."""

    search_form_class = forms.Form
    model_admin: Any
    form: ListFilter
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
        if self.opened is not None and self.opened not in found.rows:
            return page_from(self.queryset, self.opened, self.list_per_page)
        return found

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
        hidden = {"q", "customer", "zone"}
        if self.one_workspace:
            hidden.add("workspace_id__exact")
        return [
            {"label": field.label, "text": self._shown(field), "url": self.address(**{name: None})}
            for name in self.form.fields
            if (field := self.form[name]).value() and name not in hidden
        ]

    def _shown(self, field: forms.BoundField) -> str:
        if field.name in NAMES and self.result_list:
            return str(getattr(self.result_list[0], NAMES[field.name]))
        return self.form.in_words(field.name)

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


class LogAdmin(SectionAdmin):
    """A list that nobody changes. A subclass says what is visible, and has `line` and `facts`."""

    actions = None
    list_per_page = 50
    sortable_by = ()
    empty_value_display = "–"
    change_list_template = "admin/log.html"
    filter_form: type[ListFilter] = LogFilter
    is_log = True
    empty_text = "Nothing yet."
    finds: Mapping[Kind, Sequence[str]] = {}  # the filters that a text may be of, in turn

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return LogChangeList

    def get_filter_form(self, request: HttpRequest) -> Any:
        return self.filter_form(request.GET)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The list; 404 if the user may not see the row that the URL opens."""
        if OPEN in request.GET:
            request.open = self.visible_or_404(request, request.GET[OPEN])  # type: ignore[attr-defined]
        return super().changelist_view(request, *args, **kwargs)

    def line(self, request: HttpRequest, row: Any) -> Line:
        raise NotImplementedError

    def facts(self, request: HttpRequest, row: Any) -> Iterable[tuple[str, Any]]:
        """What is known of an opened row: labels and texts. Those that are empty are not shown."""
        return ()

    def panel(
        self,
        request: HttpRequest,
        title: str,
        rows: Iterable[Any],
        url: str,
        template: str = "admin/log_panel.html",
    ) -> SafeString:
        """Some rows, for the start page, and a link to the list."""
        lines = [
            {"row": row, "line": self.line(request, row), "url": self.url_of(row)} for row in rows
        ]
        one_workspace = self.shows_one_workspace(request)
        context = {"title": title, "lines": lines, "url": url, "one_workspace": one_workspace}
        return SafeString(render_to_string(template, context))

    def details(self, request: HttpRequest, row: Any) -> SafeString:
        facts = [
            (label, text) for label, text in self.facts(request, row) if text not in ("", None)
        ]
        return SafeString(render_to_string("admin/facts.html", {"facts": facts}))

    def shows_one_workspace(self, request: HttpRequest) -> bool:
        """Whether all rows are of a workspace that need not be named."""
        return False

    def openable(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows that the user may open, whichever workspace is looked at."""
        return self.get_queryset(request)

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """The only row that one of the filters finds, opened, or the list with this filter."""
        for name in self.finds.get(kind, ()):
            form = self.filter_form(QueryDict(urlencode({name: text})))
            found = form.condition() if form.is_valid() else Q(pk__in=[])
            # In no order: the newest first could be looked for through the whole table.
            rows = self.openable(request).filter(found).order_by()[:2]
            if len(rows) == 1:
                return self.url_of(rows[0])
            if rows:
                own = rows[0].workspace_id if self.shows_one_workspace(request) else None
                return self.url_in(own, **{name: text})
        return ""

    def url_of(self, obj: Any) -> str:
        return self.url_in(obj.workspace_id, **{OPEN: obj.pk})

    def url_in(self, workspace_id: UUID | None, **filters: Any) -> str:
        """The URL of the list of a workspace, or of all."""
        own = {"workspace_id__exact": workspace_id} if workspace_id else {}
        return filtered(self.url_name("changelist"), **own, **filters)
