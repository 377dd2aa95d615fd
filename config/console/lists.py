"""Lists of what happened, newest first: their filters, their pages, and their one table.

Django's change list counts the table twice and uses OFFSET. Here a page follows a row, by the pair
(created_at, id), which is unique. Rows that are added later come before it.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.apps import apps
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.choices import flatten_choices

from config.console.links import DELIVERIES, LOG, REFUSED

AFTER, OPEN = "after", "open"  # URL parameters of a page, and of its opened row
PERIODS = {"24h": ("Last 24 hours", 1), "7d": ("Last 7 days", 7), "30d": ("Last 30 days", 30)}
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2999, 12, 31)  # Python has them in any zone
# What a chip shows of an id: of a row of the list, or of the newest one of a log.
NAMES = {
    "workspace_id__exact": ("audit.AuditEntry", "{0.workspace_name}"),
    "key_id__exact": ("audit.AuditEntry", "{0.key_prefix}… {0.key_name}"),
    "document_id__exact": ("audit.AuditEntry", "{0.document_title}"),
    "endpoint_id__exact": ("webhooks.Delivery", "{0.endpoint}"),
}


def page_after(ranges: list[QuerySet[Any]], last: Any, size: int) -> tuple[list[Any], Any]:
    """The newest rows, or those after a row; the id of their last one, if there are older ones.

    Each range is a statement: for two in one, PostgreSQL may read the whole table.
    """
    older = Q()
    if last is not None:
        # No comparison of rows: PostgreSQL 18 would begin at the end of the days, and read on.
        older = Q(created_at__lt=last.created_at) | Q(pk__lt=last.pk)
        older &= Q(created_at__lte=last.created_at)
    pages = [rows.filter(older).order_by("-created_at", "-id")[: size + 1] for rows in ranges]
    found = sorted(chain(*pages), key=attrgetter("created_at", "pk"), reverse=True)
    return found[:size], found[size - 1].pk if len(found) > size else None


def batches(ranges: list[QuerySet[Any]], size: int) -> Iterator[list[Any]]:
    """All rows, newest first. Each is a page of its own, so a slow reader holds no cursor."""
    found, older = page_after(ranges, None, size)
    yield found
    while older:
        found, older = page_after(ranges, found[-1], size)
        yield found


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
    zone = any_of("Time zone", [(each, each) for each in available_timezones()], forms.HiddenInput)
    within = any_of("Time", [(each, PERIODS[each][0]) for each in PERIODS], forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any]) -> None:
        """A button keeps the period that is shown; days that are typed replace it."""
        typed = data.get("since") or data.get("until")
        super().__init__({**data, "within": ""} if typed else data)

    def condition(self) -> Q:
        first, end = self.bounds()
        values = {"created_at__gte": first, "created_at__lt": end, **self.cleaned_data}
        return Q(**{name: value for name, value in values.items() if "__" in name and value})

    def ranges(self, rows: QuerySet[Any]) -> list[QuerySet[Any]]:
        """Those of the rows that the list has; each range is one of an index."""
        return [rows.filter(self.condition())]

    def bounds(self) -> tuple[datetime | None, datetime | None]:
        """The first moment of the days that are shown, and the one after the last."""
        values, zone = self.cleaned_data, ZoneInfo(self.cleaned_data["zone"] or "UTC")
        since, until = values["since"], values["until"]
        first = datetime.combine(since, time.min, zone) if since else None
        end = datetime.combine(until, time.min, zone) + timedelta(days=1) if until else None
        if values["within"]:
            _, days = PERIODS[values["within"]]
            first = timezone.now() - timedelta(days=days)
        return first, end

    def in_words(self, name: str) -> str:
        """What a field shows for its value."""
        value = self[name].value()
        choices: Any = getattr(self.fields[name], "choices", ())
        return str(dict(flatten_choices(choices)).get(value, value))


class Line(NamedTuple):
    """A row as the table of logs shows it. Texts may be HTML."""

    word: str  # what happened, in a word or two
    colour: str  # "ok", "warn", "bad" or ""
    who: str
    what: str  # which, and why


class FilteredList:
    """A list as its template shows it, named as in Django's: empty if a filter is not valid."""

    template_name = "admin/log.html"
    # The chips above each log: texts, lists, and what a list is narrowed to. Each reads one table.
    logs = (
        ("All", LOG, None),
        ("Downloads", LOG, "downloads"),
        ("Changes", LOG, "changes"),
        ("Imports", LOG, "imports"),
        ("Refused", REFUSED, None),
        ("Deliveries", DELIVERIES, None),
    )

    def __init__(self, section: Any, request: HttpRequest) -> None:
        self.section, self.request = section, request
        # These first: a row may be of another workspace, which is looked at then.
        opened, last = request.GET.get(OPEN), request.GET.get(AFTER, "")
        self.opened = section.visible_or_404(request, opened) if opened else None
        self.last = section.get_object(request, last)
        self.one_workspace = section.shows_one_workspace(request)
        self.form = section.get_filter_form(request)
        found: Any = self.get_page() if self.form.is_valid() else ([], None)
        self.result_list, self.older = found
        self.rows = section.as_rows(self.result_list)
        self.chips = list(self.get_chips())

    def get_page(self) -> tuple[list[Any], Any]:
        """The newest rows, or those after the last one; an opened row begins a page."""
        size = self.section.list_per_page
        ranges = self.form.ranges(self.section.get_queryset(self.request))
        found, older = page_after(ranges, self.last, size)
        if self.opened is None or self.opened in found:
            return found, older
        following, older = page_after(ranges, self.opened, size - 1)
        return [self.opened, *following], older

    def lines(self) -> Any:
        return self.section.lines(self.request, self.rows, self.opened)

    def get_chips(self) -> Iterator[tuple[str, str, str]]:
        """The filters that only chips show: labels, texts, and the URLs without them."""
        hidden = {"zone", "kind", "workspace_id__exact" if self.one_workspace else ""}
        set_fields = [field for field in self.form if field.value()]
        for field in [each for each in set_fields if each.name not in hidden]:
            text = self.form.in_words(field.name)
            if field.name in NAMES and self.form.is_valid():
                model, name = NAMES[field.name]
                log = self.section.admin_site.get_model_admin(apps.get_model(model))
                alike = log.openable(self.request).filter(**{field.name: field.value()})
                found = self.result_list[:1] or alike.order_by("-created_at", "-id")[:1]
                text = name.format(found[0]) if found else text
            others = {each.name: each.value() for each in set_fields if each.name != field.name}
            label = "Search" if field.name == "q" else field.label
            yield label, text, f"?{urlencode(others)}"
