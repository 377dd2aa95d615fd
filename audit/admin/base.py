"""Pages of logs, for support staff and for admins of workspaces."""

from typing import Any

from django.contrib.admin.utils import label_for_field, lookup_field
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from audit.admin.periods import LogFilter
from audit.admin.search import redirect_without_key
from audit.scope import scope_of, workspace_model
from config.console.changelist import ReadOnlyAdmin
from config.console.formatting import Bad, isolated


class ScopedAdmin(ReadOnlyAdmin):
    """Rows with a `workspace_id`: users see those in their scope."""

    is_log = True
    filter_form: type[LogFilter]
    sections: tuple[tuple[str, tuple[str, ...]], ...] = ()  # without empty fields
    only_on_pages: tuple[str, ...] = ()  # not if a row is opened in the list

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        scope = scope_of(request)
        return bool(scope) if obj is None else scope.includes(obj.workspace_id)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        scope = scope_of(request)
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.filter(scope.condition()) if scope else rows.none()

    def get_filter_form(self, request: HttpRequest) -> LogFilter:
        return self.filter_form(request.GET, scope_of(request))

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return redirect_without_key(request) or super().changelist_view(request, extra_context)

    def history_url(self, obj: Model) -> str:
        return self.url_of(obj)

    def warnings(self, request: HttpRequest) -> list[str]:
        """Also that own workspaces are suspended."""
        own = workspace_model().objects.filter(pk__in=scope_of(request).workspaces, suspended=True)
        text = (
            '{} is suspended: its keys are refused, and deliveries wait. <a href="{}">See why</a>'
        )
        banners = [
            Bad(format_html(text, isolated(each), each.get_absolute_url()))
            for each in own.order_by("name")
        ]
        return [*banners, *super().warnings(request)]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        filled = [
            (title, [name for name in names if self._holds(obj, name)])
            for title, names in self.sections
        ]
        return [(title, {"fields": names}) for title, names in filled if names]

    def facts(self, request: HttpRequest, obj: Any) -> list[tuple[str, Any]]:
        fieldsets = self.get_fieldsets(request, obj)
        return [
            (str(label_for_field(name, self.model, self)), lookup_field(name, obj, self)[2])
            for _, options in fieldsets
            for name in options["fields"]
            if name not in self.only_on_pages
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [name for _, names in self.sections for name in names]

    def _holds(self, obj: Any, name: str) -> bool:
        shown = getattr(self, name, None)
        return (shown(obj) if shown else getattr(obj, name)) not in ("", None)
