"""What every endpoint of the API shares: the order of checks, and JSON without negotiation."""

from typing import Any, NoReturn

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.viewsets import ViewSet

from config.api.errors import MethodNotAllowed, PathNotFound
from config.api.request import ApiRequest
from config.api.responses import answer


class ApiViewSet(ViewSet):
    """Judges a request in the API's order: key (401), rate (429), standing (403, 402), method.

    DRF asks permissions before throttles; here every request with a valid key counts, also one
    of a suspended workspace. Parameters (400) and the document (404) come after, in the views.
    """

    http_method_names = ["get", "head"]
    renderer_classes = [JSONRenderer]  # for the description; answers are `config.api.responses`'

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """DRF's dispatch without what this API has no use for.

        There are no bodies to parse, nothing to negotiate (whatever `Accept` says, an endpoint
        serves what it serves), no versions but the path's, and answers come rendered.
        """
        self.request = api_request = ApiRequest(request, self.get_authenticators())
        response: HttpResponseBase
        try:
            self.initial(api_request)
            if (method := (request.method or "").lower()) not in self.http_method_names:
                raise MethodNotAllowed
            response = getattr(self, method)(api_request, **kwargs)
        except Exception as exc:
            response = answer(exc)
        finally:
            # DRF makes cycles that only the collector would find: the view with its own bound
            # methods, and the request with what parses its body.
            self.__dict__.clear()
            api_request.parser_context.clear()
        for name, value in api_request.response_headers.items():
            response[name] = value
        return response

    def initial(self, request: ApiRequest, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        self.perform_authentication(request)
        self.check_throttles(request)
        self.check_permissions(request)


class UnknownPath(ApiViewSet):
    """Any path under /api/v1/ that no endpoint has."""

    def retrieve(self, request: ApiRequest, **kwargs: str) -> NoReturn:
        raise PathNotFound
