"""Base classes of the admin's sections."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views import View
from django.views.decorators.http import require_safe

from config.console.formatting import urgency
from config.console.identify import Kind
from config.console.lists import FilteredList
from config.request.redaction import public_part

# Who may see a section: those with a permission of Django's, or
ADMINS = "admins"  # of a workspace
OPERATORS = "config.view_system"  # a permission that only superusers have
READ_ALL = "audit.view_auditentry"  # one that operators and support staff have


class SectionAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # generic only in the stubs
    """A section of the admin: Django's list, and pages of our own in place of Django's forms."""

    title = ""  # in the menu, and of the list
    seen_by: Sequence[str] = ()  # in the menu, on the start page and by the header's box
    in_menu = True
    is_log = False  # the box in the header leads to things before logs
    menu_position = 50  # from left to right
    add_text = ""  # of the button that leads to the form for a new one
    pages: Mapping[str, type[View]] = {}  # by the last part of their URLs
    list_class: type[FilteredList] | None = None  # instead of Django's list
    links: tuple[str, ...] = ()  # the filters that only links set
    found_by: Mapping[Kind, str] = {}  # what the box in the header compares with a text
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 25  # a log's row has three lines on a phone

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        site: Any = self.admin_site
        return bool(site.may_see(request, self.seen_by))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission

    def get_urls(self) -> list[URLPattern]:
        """Of Django's pages only the list, which responds 405 to anything but GET and HEAD."""
        prefix = f"{self.opts.app_label}_{self.opts.model_name}"
        changelist = require_safe(self.admin_site.admin_view(self.changelist_view))
        return [
            path("", changelist, name=f"{prefix}_changelist"),
            *(
                path(
                    "add/" if part == "add" else f"<path:object_id>/{part}/",
                    self.admin_site.admin_view(page.as_view(section=self)),
                    name=f"{prefix}_{part.replace('-', '_')}",
                )
                for part, page in self.pages.items()
            ),
        ]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only the list's filters; Django would let any field be one."""
        filters = self.get_list_filter(request)
        offered = {getattr(each, "parameter_name", f"{each}__exact") for each in filters}
        return lookup in {*offered, *self.links} and "\0" not in value  # which is in no text

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist: Any = super().get_changelist_instance(request)
        changelist.rows = self.as_rows(changelist.result_list)
        return changelist

    def as_rows(self, objects: Iterable[Any]) -> Iterable[Any]:
        """What the list's template shows of each object on its page."""
        return objects

    def warnings(self, request: HttpRequest) -> list[str]:
        return sorted(chain(*self.health(request).values()), key=urgency)

    def health(self, request: HttpRequest) -> dict[str, list[str]]:
        """What the start page looks at, by its name: lines of HTML for each thing that is wrong."""
        return {}

    def panels(self, request: HttpRequest) -> list[SafeString]:
        """HTML for the start page, below these lines."""
        return []

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """Where the box in the header leads from a text of this kind; "" if it is nothing here."""
        if field := self.found_by.get(kind):
            # A key's beginning is unique, so it is looked for in all workspaces.
            rows = self.openable(request) if kind == Kind.KEY else self.get_queryset(request)
            return self.url_of_found(rows.filter(**{field: text}), text)
        obj = self.get_object(request, text) if kind == Kind.ID else None
        return self.url_of(obj) if obj else ""

    def openable(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows whose pages the user may open; a list may show fewer."""
        return self.get_queryset(request)

    def needs_a_look(self, request: HttpRequest) -> Iterable[tuple[UUID, str, SafeString]]:
        """The workspaces to look at, of those that the user sees: ids, names, and HTML: why."""
        return ()

    def url_of_found(self, found: QuerySet[Any], text: str) -> str:
        """The page of the only object that is found, or the list that searches for the text."""
        objects = found.distinct()[:2]
        if len(objects) == 1:
            return self.url_of(objects[0])
        return reverse(self.url_name("changelist"), query={"q": text}) if objects else ""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        given = request.GET.dict()
        # Without whole keys, and the fields that a form left empty. The browser's history keeps the
        # target of a redirect, not what was redirected.
        kept = {name: public_part(value) or value for name, value in given.items() if value}
        if kept != given:
            return HttpResponseRedirect(reverse(self.url_name("changelist"), query=kept))
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {"title": self.title, "warnings": self.warnings(request), **(extra_context or {})}
        if self.list_class is None:
            return super().changelist_view(request, context)
        shown = self.list_class(self, request)
        context |= self.admin_site.each_context(request)
        return render(request, shown.template_name, {**context, "cl": shown})

    def url_name(self, page: str) -> str:
        return f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"

    def crumb(self) -> tuple[str, str]:
        return self.title, self.list_url()

    def list_url(self) -> str:
        return reverse(self.url_name("changelist"))

    def url_of(self, obj: Model) -> str:
        return reverse(self.url_name("change"), args=[obj.pk])

    def visible_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """The object; 404 if none that the user may see has this id, 403 if the user sees none."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if obj := self.get_object(request, object_id):
            return obj
        raise Http404


def set_cookie(response: HttpResponseBase, name: str, value: str, **options: Any) -> None:
    """Sets a signed cookie for the console."""
    options |= {"secure": settings.SESSION_COOKIE_SECURE, "samesite": "Lax"}
    response.set_signed_cookie(name, value, path=reverse("admin:index"), **options)


def request_user(request: HttpRequest) -> User:
    return request.user  # type: ignore[return-value] # somebody is signed in
