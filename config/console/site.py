"""The admin site: its start page, its menu, and the headers of its responses."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path
from django.utils.text import capfirst

from config.console import search
from config.console.reauthentication import asks_for_password

View = Callable[..., HttpResponse]

# Scripts and styles are files of ours. Other hosts may not serve, receive or frame anything.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Site(admin.AdminSite):
    """The developer settings and the audit log, for active staff.

    Each model's admin, a `SectionAdmin`, decides what a user sees.
    """

    site_header = "Document API"
    site_title = "Document API"
    index_title = "Overview"
    site_url = None  # there is no other site to view
    enable_nav_sidebar = False  # a user sees few sections; the lists need the width

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Removes two URLs of Django's that nothing here uses; one checks no permissions."""
        unused = ("view_on_site", "autocomplete")
        urls = [url for url in super().get_urls() if getattr(url, "name", "") not in unused]
        view = self.admin_view(partial(search.page, self))
        return [path("search/", view, name="search"), *urls]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Any page may ask for the password; none may be cached, not even if Django allows it."""
        return with_csp(super().admin_view(asks_for_password(view), cacheable=False))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Adds the sections of the menu."""
        context = super().each_context(request)
        models = [model for app in context["available_apps"] for model in app["models"]]
        sections = [self.section(request, model) for model in models]
        return {**context, "sections": sorted(sections, key=lambda each: each["position"])}

    def section(self, request: HttpRequest, model: dict[str, Any]) -> dict[str, Any]:
        """A section for the menu and the start page."""
        section: Any = self.get_model_admin(model["model"])
        return {
            "name": capfirst(section.nouns),
            "url": model["admin_url"],
            "add_url": model["add_url"],
            "add_text": section.add_text,
            "description": section.description_for(request),
            "position": section.menu_position,
            "current": request.path.startswith(str(model["admin_url"])),
        }

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The start page: warnings and panels of the sections that the user may see."""
        sections: Any = self._registry.values()
        shown = [section for section in sections if section.has_view_permission(request)]
        shown.sort(key=lambda section: section.menu_position)
        context = {
            "warnings": [text for each in shown for text in each.urgent_warnings(request)],
            "panels": [panel for each in shown for panel in each.panels(request)],
        }
        return super().index(request, {**context, **(extra_context or {})})


def with_csp(view: View) -> View:
    """Adds the policy to each response of the view."""

    @wraps(view)
    def inner(*args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = view(*args, **kwargs)
        response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return response

    return inner
