"""Pages of the admin that show and change nothing: lists with filters of our own, and one object.

Django's list counts its table twice and skips over what comes before a page; these do neither
(`config.admin.keyset`).
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from config.admin import keyset
from config.admin.base import AuditedAdmin

READING = ("GET", "HEAD")
AFTER, BEFORE = "after", "before"  # parameters of a list's address: where a page begins


class FilterForm(forms.Form):
    """What a list is narrowed by: each field is a parameter of its address."""

    label_suffix = ""

    def condition(self) -> Q:
        """What all that is listed meets."""
        return Q()

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        """What a filter that a link has set is about, as the rows name it; "" to show its value."""
        return ""

    def ways(self) -> list[Q]:
        """Conditions of which one is met, each with an index of its own; none finds nothing."""
        return [Q()]


class KeysetChangeList(ChangeList):
    """Django's list with our filters and pages.

    Attributes:
        form: the filters, as the address has them.
        page: what is shown; empty when a filter is not valid, rather than not filtered.
    """

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
        after, before = self._place(AFTER), self._place(BEFORE)
        ways = self.model_admin.get_alternatives(request, self.form) if self.form.is_valid() else []
        self.page = keyset.page(
            self.queryset, ways, after=after, before=before, size=self.list_per_page
        )
        self.result_list = self.page.rows
        self.result_count = len(self.page.rows)
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = self.can_show_all = self.multi_page = False

    def _place(self, name: str) -> keyset.Position | None:
        """The place that a parameter names; one that names none is an error of the form."""
        if name not in self.params:
            return None
        try:
            return keyset.Position.parse(self.params[name], self.model._meta.pk)
        except ValidationError as exc:
            self.form.add_error(None, exc)
            return None

    def address(self, **changes: Any) -> str:
        """This list's address with other parameters; None leaves one out."""
        parameters = {name: self.form.data.get(name) for name in self.form.fields} | changes
        return f"?{urlencode({name: value for name, value in parameters.items() if value})}"

    @property
    def chips(self) -> list[dict[str, Any]]:
        """The filters that a link has set: no input shows them, so they are named."""
        return [
            {
                "field": field,
                "text": self.form.chip_text(field.name, self.result_list) or field.value(),
                "url_without": self.address(**{field.name: None}),
            }
            for field in self.form.hidden_fields()
            if field.value()
        ]

    @property
    def newer_url(self) -> str | None:
        return self.address(**{BEFORE: self.page.newer}) if self.page.newer else None

    @property
    def older_url(self) -> str | None:
        return self.address(**{AFTER: self.page.older}) if self.page.older else None

    @property
    def empty_text(self) -> str:
        """What stands in place of a list that has no rows."""
        if AFTER in self.params:  # the newer ones are on the pages before
            return "Nothing older matches." if self.narrowed else "There is nothing older."
        return "Nothing matches." if self.narrowed else self.model_admin.empty_text

    @property
    def narrowed(self) -> bool:
        """Whether any filter is set."""
        return self.address() != "?"


class ReadOnlyAdmin(AuditedAdmin):
    """A model that is shown and never changed here, by anyone.

    Attributes:
        filter_form: what its list is narrowed by.
        empty_text: what the list says when there is nothing at all.
    """

    actions = None
    list_per_page = 50
    sortable_by = ()
    empty_value_display = "–"
    change_list_template = "admin/keyset_change_list.html"
    change_form_template = "admin/read_only_form.html"
    filter_form: type[FilterForm] = FilterForm
    empty_text = "Nothing yet."

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return KeysetChangeList

    def get_filter_form(self, request: HttpRequest) -> FilterForm:
        """The filters, with the values of the request's address."""
        return self.filter_form(request.GET)

    def get_filtered(self, request: HttpRequest, form: FilterForm) -> QuerySet[Any]:
        """What this person may see and the valid filters let through."""
        return self.get_queryset(request).filter(form.condition())

    def get_alternatives(self, request: HttpRequest, form: FilterForm) -> list[Q]:
        """The ways along which the list is read (`config.admin.keyset.fetch`)."""
        return form.ways()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method not in READING:
            return HttpResponseNotAllowed(READING)
        return super().changelist_view(request, extra_context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if request.method not in READING:
            return HttpResponseNotAllowed(READING)
        return super().changeform_view(request, object_id, form_url, extra_context)
