"""Every address of the service."""

from typing import Any

from django.contrib import admin
from django.urls import path, re_path
from django.views.generic import RedirectView

from config import docs
from config.api import UnknownPath
from config.openapi import DescriptionViewSet
from documents.views import DocumentViewSet, UnknownDocumentPath
from workspaces.views import MeViewSet

get: dict[str, Any] = {"get": "retrieve"}

urlpatterns = [
    path("api/v1/me", MeViewSet.as_view(get), name="me"),
    path("api/v1/documents", DocumentViewSet.as_view({"get": "list"})),
    path("api/v1/documents/<str:id>", DocumentViewSet.as_view(get)),
    path("api/v1/documents/<str:id>/download", DocumentViewSet.as_view({"get": "download"})),
    path("api/v1/openapi.json", DescriptionViewSet.as_view(get)),
    # Not <path:rest>: it takes no line end. Not (?s): no address can be reversed then.
    re_path(r"^api/v1/documents/(?P<rest>[\s\S]+)$", UnknownDocumentPath.as_view(get)),
    re_path(r"^api/v1/(?P<rest>[\s\S]+)$", UnknownPath.as_view(get)),
    path("api/docs", docs.page, name="docs"),
    path("api/docs/", RedirectView.as_view(pattern_name="docs")),
    path("", RedirectView.as_view(pattern_name="docs")),
    path("admin/", admin.site.urls),
]

handler400 = "config.handlers.bad_request"
handler403 = "config.handlers.forbidden"
handler404 = "config.handlers.not_found"
handler500 = "config.handlers.server_error"
