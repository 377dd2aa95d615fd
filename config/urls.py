"""The URLs: health checks in every process, and the API, pages or both, as `ROLE` says."""

from typing import Any

from django.conf import settings
from django.urls import include, path, re_path

from config import health
from config.api import openapi
from config.api.viewsets import UnknownPath
from documents.api.views import DocumentViewSet
from documents.download.views import DownloadViewSet
from documents.search.views import SearchViewSet
from events.views import EventViewSet
from workspaces.views import MeViewSet

api = [
    path("api/v1/me", MeViewSet.as_view({"get": "retrieve"})),
    path("api/v1/documents", DocumentViewSet.as_view({"get": "list"})),
    path("api/v1/documents/<str:id>", DocumentViewSet.as_view({"get": "retrieve"})),
    path("api/v1/documents/<str:id>/download", DownloadViewSet.as_view({"get": "retrieve"})),
    path("api/v1/search", SearchViewSet.as_view({"get": "list"})),
    path("api/v1/events", EventViewSet.as_view({"get": "list"})),
    path("api/v1/openapi.json", openapi.OpenApiViewSet.as_view({"get": "retrieve"})),
    # Not <path:rest>, which does not match a line break. Not (?s), which breaks reverse().
    re_path(r"^api/v1(?P<rest>(?:/[\s\S]*)?)$", UnknownPath.as_view({"get": "retrieve"})),
]

urlpatterns: list[Any] = []
if settings.SERVES_API:  # first: each pattern before the one that matches takes 3 µs
    urlpatterns += api
urlpatterns += [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.metrics),
]
if settings.SERVES_PAGES:
    urlpatterns.append(path("", include("config.console.urls")))

handler400 = "config.request.error_pages.bad_request"
handler403 = "config.request.error_pages.forbidden"
handler404 = "config.request.error_pages.not_found"
handler500 = "config.request.error_pages.server_error"
