"""The URLs of pages for people."""

from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

from config.docs import client
from config.docs import views as docs
from workspaces.accounts.invitation_views import invitation

urlpatterns = [
    path("api/docs", docs.page, name="docs"),
    path("api/docs/", RedirectView.as_view(pattern_name="docs")),
    path("api/docs/find", docs.find, name="docs_find"),
    path(f"api/docs/{client.NAME}.tar.gz", docs.client_archive, name="docs_client"),
    path("api/docs/<path:path>", docs.page, name="docs"),
    path("", RedirectView.as_view(pattern_name="docs")),
    path("admin/invitation/", invitation, name="invitation"),
    path("admin/", admin.site.urls),
]
