"""The peer's addresses."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from bench.peers.drf.views import DocumentViewSet, MeView

router = SimpleRouter(trailing_slash=False)
router.register("documents", DocumentViewSet, basename="document")

urlpatterns = [
    path("api/v1/me", MeView.as_view()),
    path("api/v1/", include(router.urls)),
]
