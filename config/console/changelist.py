"""Read-only pages of the admin: a list with its own filters, and the page of one object.

Django's change list counts the table twice and uses OFFSET; this one does neither
(`config.console.keyset`).
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import URLPattern
from django.views.decorators.http import require_safe

from config.console import keyset
from config.console.base import SectionAdmin

AFTER, BEFORE = "after", "before"  # URL parameters: where a page begins


class SearchField(forms.CharField):
    def __init__(self, help_text: str, label: str = "Search") -> None:
        widget = forms.TextInput({"type": "search", "autocomplete": "off"})
        super().__init__(
            label=label, help_text=help_text, required=False, max_length=500, widget=widget
        )


def any_of(label: str, choices: Iterable[tuple[str, Any]]) -> forms.ChoiceField:
    """A filter by one of these values, or by none."""
    return forms.ChoiceField(label=label, required=False, choices=[("", "Any"), *choices])


class FilterForm(forms.Form):
    """The filters of a list; each field is a URL parameter."""

    def condition(self) -> Q:
        return Q()

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        """The text for a filter that is set; "" to show its value."""
        return ""

    def alternatives(self) -> list[Q]:
        """Conditions combined with OR, each served by one index; an empty list matches nothing."""
        return [Q()]


def shown(field: forms.BoundField) -> Any:
    value = field.value()
    choices = {str(key): text for key, text in getattr(field.field, "choices", ())}
    return choices.get(value, value) if choices else field.field.widget.format_value(value)


class KeysetChangeList(ChangeList):
    """Django's change list with our filters, and with our pages: empty if a filter is not valid."""

    search_form_class = forms.Form  # the search is one of our filters
    model_admin: "ReadOnlyAdmin"
    form: FilterForm
    page: keyset.Page

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        self.form = self.model_admin.get_filter_form(request)
        self.filter_specs = []
        self.has_filters = self.has_active_filters = False
        if not self.form.is_valid():
            return self.root_queryset.none()
        return self.model_admin.get_filtered(request, self.form)

    def get_results(self, request: HttpRequest) -> None:
        self.page = self.get_page(self._position(AFTER), self._position(BEFORE))
        self.result_list = self.page.rows
        self.result_count = len(self.page.rows)
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = self.can_show_all = self.multi_page = False

    def get_page(
        self, after: keyset.Position | None, before: keyset.Position | None
    ) -> keyset.Page:
        """The rows to show: what follows `after`, or ends at `before`, or else the newest."""
        alternatives = self.form.alternatives() if self.form.is_valid() else []
        return keyset.page(
            self.queryset, alternatives, after=after, before=before, size=self.list_per_page
        )

    def _position(self, name: str) -> keyset.Position | None:
        """The position in a URL parameter; a malformed one is an error of the form."""
        if name not in self.params:
            return None
        try:
            return keyset.Position.parse(self.params[name], self.model._meta.pk)
        except ValidationError as exc:
            self.form.add_error(None, exc)
            return None

    def address(self, **changes: Any) -> str:
        """This list's query string with other parameters; None leaves one out."""
        parameters = {name: self.form.data.get(name) for name in self.form.fields} | changes
        return f"?{urlencode({name: value for name, value in parameters.items() if value})}"

    @property
    def chips(self) -> list[dict[str, Any]]:
        return [
            {
                "field": field,
                "text": self.form.chip_text(field.name, self.result_list) or shown(field),
                "url_without": self.address(**{field.name: None}),
            }
            for field in self.form
            if field.value() and field.name != "q"
        ]

    @property
    def newer_url(self) -> str | None:
        return self.address(**{BEFORE: self.page.newer}) if self.page.newer else None

    @property
    def older_url(self) -> str | None:
        return self.address(**{AFTER: self.page.older}) if self.page.older else None

    @property
    def empty_text(self) -> str:
        if AFTER in self.params:
            return "Nothing older matches." if self.narrowed else "There is nothing older."
        return "Nothing matches." if self.narrowed else self.model_admin.empty_text

    @property
    def narrowed(self) -> bool:
        return self.address() != "?"


class ReadOnlyAdmin(SectionAdmin):
    actions = None
    list_per_page = 50
    sortable_by = ()
    empty_value_display = "–"
    change_list_template = "admin/keyset_change_list.html"
    filter_form: type[FilterForm] = FilterForm
    empty_text = "Nothing yet."

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return KeysetChangeList

    def get_filter_form(self, request: HttpRequest) -> FilterForm:
        return self.filter_form(request.GET)

    def get_filtered(self, request: HttpRequest, form: FilterForm) -> QuerySet[Any]:
        return self.get_queryset(request).filter(form.condition())

    def found(self, request: HttpRequest, text: str, most: int) -> tuple[list[Any] | None, str]:
        form: Any = self.get_filter_form(request)
        if "q" not in form.fields:
            return super().found(request, text, most)
        if not form.is_valid():
            return None, ""
        rows = keyset.fetch(self.get_filtered(request, form), form.alternatives(), None, most)
        return rows, "; ".join(each.what for each in getattr(form, "recognised", ()))

    def get_urls(self) -> list[URLPattern]:
        """Django's own pages respond 405 to anything but GET and HEAD."""
        urls = super().get_urls()
        for url in urls:
            if not hasattr(url.callback, "view_class"):  # as those of `pages` have
                url.callback = require_safe(url.callback)
        return urls
