"""GET /api/v1/openapi.json, the OpenAPI document; and /api/docs, the documentation page.

The document is `docs/openapi.json`. It is written by hand: the tests compare it with the code, and
each response with it.
"""

import hashlib

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render

from config.api.errors import MethodNotAllowed
from config.api.parameters import LIMIT_MAX, REQUESTS_PER_MINUTE
from config.api.request import ApiRequest
from config.api.responses import JSON, as_json, error_response, tag_of_copy
from config.api.viewsets import ApiViewSet

DOCUMENT = msgspec.json.decode((settings.BASE_DIR / "docs" / "openapi.json").read_bytes())
CONTENT = as_json(DOCUMENT)  # without the file's spaces and line breaks
HEADERS = {
    "Cache-Control": "public, max-age=300",  # seconds until a client asks for a newer one
    "ETag": f'"{hashlib.sha256(CONTENT).hexdigest()}"',
}


class OpenApiViewSet(ApiViewSet):
    """The OpenAPI document; no key is needed, and no request is counted."""

    authentication_classes = []
    throttle_classes = []
    permission_classes = []

    def retrieve(self, request: ApiRequest) -> HttpResponse:
        if tag := tag_of_copy(request, HEADERS["ETag"]):
            return HttpResponseNotModified(headers={**HEADERS, "ETag": tag})
        return HttpResponse(CONTENT, headers={**JSON, **HEADERS})


# Scripts and styles are this server's own, and requests go to this server only: a key that is
# tried in the page cannot be sent elsewhere.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page(request: HttpRequest) -> HttpResponse:
    """The documentation page. Its commands have the address that it was requested with."""
    if request.method not in ("GET", "HEAD"):
        return error_response(MethodNotAllowed())
    context = {
        "base": request.build_absolute_uri("/").rstrip("/"),
        "limit": LIMIT_MAX,
        "rate": REQUESTS_PER_MINUTE,
        "version": DOCUMENT["info"]["version"],
    }
    response = render(request, "docs.html", context)
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response
