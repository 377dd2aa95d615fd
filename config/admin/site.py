"""The admin's site: its start page, its form to sign in, and what all its answers carry."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.contrib.auth import SESSION_KEY
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, URLResolver

from config.admin.login import LoginForm, Throttled

View = Callable[..., HttpResponse]

# Scripts and styles are files of ours; nothing is loaded from, sent to or framed by others.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def ensure_connection(view: View) -> View:
    """The view with a connection to the database that has not died since it was last used.

    The API's first query sees to that by itself (`apikeys.authentication`); for people a round trip
    more does not matter.
    """

    @wraps(view)
    def inner(*args: Any, **kwargs: Any) -> HttpResponse:
        if connection.connection is not None and not connection.is_usable():
            connection.close()
        return view(*args, **kwargs)

    return inner


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
        return with_csp(ensure_connection(super().admin_view(view, cacheable=False)))

    @ensure_connection
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The form to sign in; 429 when it was tried too often.

        Whoever comes here with a session that no longer opens anything loses it.
        """
        if SESSION_KEY in request.session and not self.has_permission(request):
            request.session.flush()
            return HttpResponseRedirect(request.get_full_path())
        return with_throttling(with_csp(super().login)(request, extra_context))

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


def with_csp(view: View) -> View:
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
