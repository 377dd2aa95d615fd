"""The base class of the API's views: the order of checks, JSON, and no negotiation."""

from typing import Any, cast

from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from config.api.active_key import ActiveKey
from config.api.errors import HttpsRequired, MethodNotAllowed, PathNotFound
from config.api.responses import NOT_STORED, as_json

METHODS = ("GET", "HEAD")


class JsonRenderer(BaseRenderer):
    media_type = "application/json"
    charset = None  # JSON is UTF-8 by definition (RFC 8259)

    def render(self, data: Any, *args: Any) -> bytes:
        return b"" if data is None else as_json(data)  # a 304 has no body


class NoNegotiation(BaseContentNegotiation):
    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class ApiViewSet(GenericViewSet[Any]):
    """Checks a request in the API's order: key (401), rate (429), API access (403, 402), method.

    Before all of that, plain HTTP is refused (403), so that nobody gets used to it.

    DRF checks permissions before throttles. Here every request with a valid key counts, including
    those of a suspended workspace. The views check parameters (400) and the document (404) after
    that.
    """

    http_method_names = [method.lower() for method in METHODS]
    renderer_classes = [JsonRenderer]
    parser_classes = ()  # the API reads no bodies
    content_negotiation_class = NoNegotiation
    format_kwarg = None  # DRF's negotiation reads it
    default_response_headers: dict[str, str] = {}  # no `Allow`, and no `Vary: Accept`
    key: ActiveKey

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Like DRF's. No cache stores the JSON of a view that forgets `conditional`."""
        response = super().finalize_response(request, response, *args, **kwargs)
        is_json = isinstance(response, Response)  # a download is Django's HttpResponse
        if is_json and "Cache-Control" not in response:
            for name, value in NOT_STORED.items():
                response[name] = value
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if settings.HTTPS_ONLY and not request.is_secure():
            raise HttpsRequired
        self.perform_authentication(request)
        self.key = cast(ActiveKey, request.auth)
        self.check_throttles(request)
        self.check_permissions(request)
        if request.META["REQUEST_METHOD"] not in METHODS:  # as sent: methods are case-sensitive
            raise MethodNotAllowed


class UnknownPath(ApiViewSet):
    """A view, unlike Django's own 404: without a valid key, the response is the 401."""

    def retrieve(self, request: Request, **kwargs: str) -> Response:
        raise PathNotFound
