"""Every URL of the service."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.urls import path, re_path
from django.views.generic import RedirectView

from config.api import openapi
from config.api.viewsets import UnknownPath
from config.console import system
from config.docs import pages as docs
from config.security_txt import page as security_txt
from documents.api.views import DocumentViewSet
from documents.download.views import DownloadViewSet
from documents.search.views import SearchViewSet
from events.views import EventViewSet
from workspaces.accounts.invitation_views import invitation
from workspaces.views import MeViewSet

get: dict[str, Any] = {"get": "retrieve"}


def favicon(request: HttpRequest) -> HttpResponse:
    """For browsers that look for an icon where no page has named one."""
    return HttpResponseRedirect(static("config/favicon.svg"))


urlpatterns = [
    path("api/v1/me", MeViewSet.as_view(get), name="me"),
    path("api/v1/documents", DocumentViewSet.as_view({"get": "list"})),
    path("api/v1/documents/<str:id>", DocumentViewSet.as_view(get)),
    path("api/v1/documents/<str:id>/download", DownloadViewSet.as_view(get)),
    path("api/v1/search", SearchViewSet.as_view({"get": "list"})),
    path("api/v1/events", EventViewSet.as_view({"get": "list"})),
    path("api/v1/openapi.json", openapi.OpenApiViewSet.as_view(get)),
    # Not <path:rest>, which does not match a line break. Not (?s), which breaks reverse().
    re_path(r"^api/v1(?P<rest>(?:/[\s\S]*)?)$", UnknownPath.as_view(get)),
    path("api/docs", docs.page, name="docs"),
    path("api/docs/", RedirectView.as_view(pattern_name="docs")),
    path("api/docs/<path:path>", docs.page, name="docs"),
    path("favicon.ico", favicon),
    path(".well-known/security.txt", security_txt),
    path("", RedirectView.as_view(pattern_name="docs")),
    path("admin/invitation/", invitation, name="invitation"),
    path("admin/system/", admin.site.admin_view(system.page), name="system"),
    path("admin/", admin.site.urls),
]

handler400 = "config.error_pages.bad_request"
handler403 = "config.error_pages.forbidden"
handler404 = "config.error_pages.not_found"
handler500 = "config.error_pages.server_error"
