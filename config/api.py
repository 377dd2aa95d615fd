"""What every endpoint of the API shares: the order of checks, and JSON without negotiation."""

from collections.abc import Mapping
from typing import Any, NoReturn

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from config import describe
from config.errors import MethodNotAllowed, PathNotFound


class OrjsonRenderer(BaseRenderer):
    """JSON by orjson: UTF-8, UUIDs as strings, times as UTC with `Z`."""

    media_type = "application/json"
    format = "json"
    charset = None  # JSON is UTF-8 by definition (RFC 8259)

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return orjson.dumps(data, option=orjson.OPT_UTC_Z)


class NoNegotiation(BaseContentNegotiation):
    """Serves what the endpoint serves, whatever `Accept` says."""

    def select_parser(self, request: Request, parsers: Any) -> None:
        return None

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class ApiViewSet(ViewSet):
    """Judges a request in the API's order: key (401), rate (429), standing (403, 402), method.

    DRF asks permissions before throttles; here every request with a valid key counts, also one
    of a suspended workspace. Parameters (400) and the document (404) come after, in the views.
    """

    http_method_names = ["get", "head"]
    renderer_classes = [OrjsonRenderer]
    parser_classes = []
    content_negotiation_class = NoNegotiation

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.perform_authentication(request)
        self.check_throttles(request)
        self.check_permissions(request)

    @property
    def default_response_headers(self) -> dict[str, str]:
        """None: DRF would list the methods on every answer; a 405 does."""
        return {}

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise MethodNotAllowed


class UnknownPath(ApiViewSet):
    """Any path under /api/v1/ that no endpoint has."""

    @describe.other_paths
    def retrieve(self, request: Request, **kwargs: str) -> Response:
        raise PathNotFound
