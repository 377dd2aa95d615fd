"""GET /api/v1/openapi.json, the OpenAPI document.

It is `docs/openapi.json`, which is written by hand: the tests compare it with the code, and each
response with it.
"""

import hashlib

import msgspec
from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.responses import as_json, tag_of_copy
from config.api.viewsets import ApiViewSet

DOCUMENT = msgspec.json.decode((settings.BASE_DIR / "docs" / "openapi.json").read_bytes())
CONTENT = as_json(DOCUMENT)  # without the file's spaces and line breaks
HEADERS = {
    "Cache-Control": "public, max-age=300",  # seconds until a client asks for a newer one
    "ETag": f'"{hashlib.sha256(CONTENT).hexdigest()}"',
}


class OpenApiViewSet(ApiViewSet):
    authentication_classes = []
    throttle_classes = []
    permission_classes = []

    def retrieve(self, request: Request) -> Response:
        if tag := tag_of_copy(request, HEADERS["ETag"]):
            return Response(status=304, headers={**HEADERS, "ETag": tag})
        return Response(msgspec.Raw(CONTENT), headers=HEADERS)
