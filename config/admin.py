"""The admin's site: its name, its start page, who may enter, and what its pages may do."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.auth import SESSION_KEY
from django.core.exceptions import (
    NON_FIELD_ERRORS,
    BadRequest,
    PermissionDenied,
    ValidationError,
)
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, reverse

from config.login import LoginForm, Throttled

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:  # generic only in the stubs
    ModelAdmin = admin.ModelAdmin
    TabularInline = admin.TabularInline

View = Callable[..., Any]

# Scripts and styles are files of ours; nothing is loaded from, sent to or framed by others.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Site(admin.AdminSite):
    """The developer settings and the audit history, for active staff.

    What a person sees inside is decided by each model's admin.
    """

    site_header = "Document API"
    site_title = "Document API"
    index_title = "Developer settings and audit history"
    site_url = None  # there is no other site to view
    enable_nav_sidebar = False  # a person sees a few sections; the lists need the width
    login_form = LoginForm

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """All but the redirect by content type and id, which scopes nothing."""
        return [url for url in super().get_urls() if getattr(url, "name", "") != "view_on_site"]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """No page is kept by a browser or a proxy, also those Django would let them keep."""
        return secured(super().admin_view(view, cacheable=False))

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The form to sign in; 429 when it was tried too often.

        Whoever comes here with a session that no longer opens anything loses it.
        """
        if SESSION_KEY in request.session and not self.has_permission(request):
            request.session.flush()
            return HttpResponseRedirect(request.get_full_path())
        return with_throttling(secured(super().login)(request, extra_context))

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """Choices for the fields that a form of ours offers them for; Django takes any relation."""
        asked = tuple(request.GET.get(name) for name in ("app_label", "model_name", "field_name"))
        if asked not in self.autocompleted():
            raise PermissionDenied
        return super().autocomplete_view(request)

    def autocompleted(self) -> set[tuple[str | None, ...]]:
        """The fields whose choices are looked up while a person types: app, model, field."""
        return {
            (each.model._meta.app_label, each.model._meta.model_name, field)
            for registered in self._registry.values()
            for each in (registered, *registered.inlines)
            for field in each.autocomplete_fields
        }

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        """What this person may see, each with its `description` of one line."""
        apps: list[dict[str, Any]] = super().get_app_list(request, app_label)
        for app in apps:
            for model in app["models"]:
                described = self.get_model_admin(model["model"])
                model["description"] = getattr(described, "description", "")
        return apps


def secured(view: View) -> View:
    """The view with the policy on each of its answers."""

    @wraps(view)
    def inner(*args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = view(*args, **kwargs)
        response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return response

    return inner


def with_throttling(response: HttpResponse) -> HttpResponse:
    """The form's answer, as a 429 when it says that there were too many attempts."""
    form = (getattr(response, "context_data", None) or {}).get("form")
    errors = form.errors.as_data().get(NON_FIELD_ERRORS, []) if form is not None else []
    for error in errors:
        if isinstance(error, Throttled):
            response.status_code = 429
            response["Retry-After"] = str(error.seconds)
    return response


class AuditedAdmin(ModelAdmin):
    """A model whose history is the audit history: Django's own log of the admin has no part in it.

    Nothing may be done unless a subclass allows it, and a list is narrowed by its own filters
    only: `?digest__startswith=…` is a 400.

    Attributes:
        audit_lookup: the field of an audit entry that holds the id of an object of this model.
        description: what the start page says of it.
    """

    audit_lookup = ""
    description = ""
    show_facets = admin.ShowFacets.NEVER

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        filters = self.get_list_filter(request)
        return lookup in {getattr(each, "parameter_name", None) for each in filters}

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """What an action answers; a chosen id that is none is a 400, where Django crashes."""
        try:
            return super().response_action(request, queryset, *args, **kwargs)
        except (ValidationError, ValueError) as exc:
            raise BadRequest from exc

    def audit_url(self, obj: Model) -> str:
        """The audit history, narrowed to this object."""
        query = urlencode({f"{self.audit_lookup}__exact": obj.pk})
        return f"{reverse('admin:audit_auditentry_changelist')}?{query}"

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The "History" button: an object that the person cannot see has none."""
        return HttpResponseRedirect(self.audit_url(self.visible_or_404(request, object_id)))

    def visible_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """The object, when this person may see it.

        Raises:
            PermissionDenied: the person sees no such objects at all.
            Http404: there is none with this id among those they see.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        obj = self.get_object(request, object_id)
        if obj is None:
            raise Http404
        return obj

    def log_addition(self, *args: Any) -> None:  # type: ignore[override]
        """Left to the audit history."""

    def log_change(self, *args: Any) -> None:  # type: ignore[override]
        """Left to the audit history."""

    def log_deletions(self, *args: Any) -> None:  # type: ignore[override]
        """Left to the audit history."""

    def page(
        self, request: HttpRequest, template: str, *, title: str, **context: Any
    ) -> TemplateResponse:
        """A page of our own, with what each page of the admin needs."""
        request.current_app = self.admin_site.name
        return TemplateResponse(
            request,
            template,
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "media": self.media,
                "title": title,
                **context,
            },
        )


def person(request: HttpRequest) -> "User":
    """Who is signed in; every page of the admin but the form to sign in has someone."""
    return cast("User", request.user)
