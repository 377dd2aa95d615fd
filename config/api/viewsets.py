"""The base class of the API's views: the order of checks, and JSON without negotiation."""

from typing import Any, NoReturn

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.viewsets import ViewSet

from config.api.errors import ApiError, HttpsRequired, MethodNotAllowed, PathNotFound
from config.api.request import ApiRequest, Reading
from config.api.responses import exception_handler

METHODS = ("GET", "HEAD")


class ApiViewSet(ViewSet):
    """Checks a request in the API's order: key (401), rate (429), API access (403, 402), method.

    Before all of that, plain HTTP is refused (403), so that nobody gets used to it.

    DRF checks permissions before throttles. Here every request with a valid key counts, including
    those of a suspended workspace. The views check parameters (400) and the document (404) after
    that.
    """

    http_method_names = [method.lower() for method in METHODS]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """DRF's dispatch without the parts that this API does not need.

        There are no bodies to parse, `Accept` is not negotiated, the version is in the path, and
        views return rendered responses.
        """
        authenticators = self.get_authenticators()
        self.request = api_request = ApiRequest(request, authenticators, self.reading(**kwargs))
        response: HttpResponseBase
        try:
            self.initial(api_request)
            response = getattr(self, _method(request).lower())(api_request, **kwargs)
        except Exception as exc:
            response = exception_handler(exc)
        finally:
            # DRF makes reference cycles that only the garbage collector would find: the view with
            # its bound methods, and the request with its parser context.
            self.__dict__.clear()
            api_request.parser_context.clear()
        for name, value in api_request.response_headers.items():
            response[name] = value
        return response

    def initial(self, request: ApiRequest, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        if settings.HTTPS_ONLY and not request._request.is_secure():
            raise HttpsRequired
        try:
            self.perform_authentication(request)
            self.check_throttles(request)
            self.check_permissions(request)
            if _method(request._request) not in METHODS:
                raise MethodNotAllowed
        except ApiError:
            request.note_checks(passed=False)
            raise
        if request.auth is not None:  # else no key is needed
            request.note_checks(passed=True)

    def reading(self, **kwargs: str) -> Reading | None:
        """What the view will read with `ApiRequest.rows`. Nothing is checked yet, nor refused here.

        Args:
            kwargs: the parts of the path.
        """
        return None


def _method(request: HttpRequest) -> str:
    method: str = request.META["REQUEST_METHOD"]  # as sent: methods are case-sensitive
    return method


class UnknownPath(ApiViewSet):
    """Any path under /api/v1 without an endpoint."""

    def retrieve(self, request: ApiRequest, **kwargs: str) -> NoReturn:
        raise PathNotFound
