from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.admin import site
from django.contrib.messages.views import SuccessMessageMixin
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.views import generic

if TYPE_CHECKING:
    FormView = generic.FormView[Any]

    class _Base(SuccessMessageMixin[Any], generic.FormView[Any]): ...
else:  # generic only in the stubs
    FormView = generic.FormView
    _Base = SuccessMessageMixin


def render_page(
    request: HttpRequest, template: str, *, title: str, **context: Any
) -> TemplateResponse:
    request.current_app = site.name
    return TemplateResponse(request, template, common(request) | {"title": title} | context)


def common(request: HttpRequest) -> dict[str, Any]:
    return site.each_context(request) | {"support_email": settings.SUPPORT_EMAIL}


class SitePage(_Base):
    """For Django's form views: the same context, and a `success_message`, on the next page."""

    title = ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = common(self.request) | {"title": self.title} | kwargs
        return super().get_context_data(**context)
