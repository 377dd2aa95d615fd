from typing import Any

from django.contrib.admin import site
from django.contrib.messages.views import SuccessMessageMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def render_page(request: HttpRequest, template: str, **context: Any) -> HttpResponse:
    return render(request, template, site.each_context(request) | context)


class SitePage(SuccessMessageMixin):  # type: ignore[type-arg] # generic only in the stubs
    """For Django's form views: the site's context, and a `success_message` on the next page."""

    request: HttpRequest
    title = ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        own: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return {**site.each_context(self.request), "title": self.title, **own}
