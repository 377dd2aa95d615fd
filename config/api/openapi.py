"""GET /api/v1/openapi.json, the OpenAPI document.

It is `docs/openapi.json`, which is written by hand: the tests compare it with the code, and each
response with it.
"""

import msgspec
from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.responses import as_json, conditional
from config.api.viewsets import ApiViewSet

DOCUMENT = msgspec.json.decode((settings.BASE_DIR / "docs" / "openapi.json").read_bytes())
_CONTENT = msgspec.Raw(as_json(DOCUMENT))  # without the file's spaces and line breaks


class OpenApiViewSet(ApiViewSet):
    authentication_classes = []
    throttle_classes = []
    permission_classes = []

    def retrieve(self, request: Request) -> Response:
        response = conditional(request, Response(_CONTENT))
        response["Cache-Control"] = "public, max-age=300"  # seconds until a client asks again
        del response["Vary"]
        return response
