"""GET /api/v1/openapi.json: the description of the API, made from its code."""

import hashlib
from functools import cache
from threading import Lock

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema, extend_schema_view

import apikeys.schema  # noqa: F401 - registers how keys are described
from config.api import errors
from config.api.errors import MethodNotAllowed
from config.api.limits import REQUESTS_PER_MINUTE
from config.api.request import ApiRequest
from config.api.responses import as_json, error_response
from config.api.viewsets import ApiViewSet, UnknownPath
from config.openapi.headers import ALLOW, REQUEST_ID, header
from config.openapi.operations import answers, condition, other_paths
from documents.api.parameters import LIMIT_MAX

CACHE_CONTROL = "public, max-age=300"  # seconds until a client asks whether there is a newer one
SENT = (200, 304)
ETAG = '"826aed33508f886a3b5bffa1989ce707a9312c9af6e354c906041481edc32013"'  # as an example

# Here, since `config.api` does not import the schema's modules.
extend_schema_view(retrieve=other_paths)(UnknownPath)

_turn = Lock()  # the generator keeps its state in globals


@cache
def document() -> tuple[bytes, str]:
    """The description as it is sent, and its tag; made once in each process."""
    with _turn:
        made = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    content = as_json(made)
    return content, f'"{hashlib.sha256(content).hexdigest()}"'


class DescriptionViewSet(ApiViewSet):
    """The description; it takes no key and counts on none."""

    authentication_classes = []
    throttle_classes = []
    permission_classes = []

    @extend_schema(
        operation_id="get_openapi",
        summary="This description",
        description="This document, OpenAPI 3.1. It needs no key and counts on none.",
        tags=["Description"],
        parameters=[
            condition(
                "If-None-Match",
                "`ETag`s that the client has; 304 if this is one of them.",
                ETag=ETAG,
            ),
            condition("If-Match", "`ETag`s, one of which this has to have; else 412.", ETag=ETAG),
            REQUEST_ID,
            ALLOW,
            header(
                "ETag",
                {"type": "string", "pattern": '^"[0-9a-f]{64}"$'},
                SENT,
                "Another description has another tag.",
            ),
            header(
                "Cache-Control",
                {"type": "string", "const": CACHE_CONTROL},
                SENT,
                "How long a copy may be used unchecked, in seconds.",
            ),
        ],
        responses={
            200: OpenApiResponse(
                OpenApiTypes.OBJECT,
                "An OpenAPI document.",
                [OpenApiExample("Description", {"openapi": "3.1.0", "info": {}, "paths": {}})],
            ),
            304: OpenApiResponse(None, "The client has this description already."),
            **answers(
                errors.InvalidRequest(),
                errors.MethodNotAllowed(),
                errors.PreconditionFailed(),
                errors.ServerError(),
            ),
        },
    )
    def retrieve(self, request: ApiRequest) -> HttpResponseBase:
        content, etag = document()
        response = get_conditional_response(
            request, etag=etag, response=HttpResponse(content, content_type="application/json")
        )
        if response is None or response.status_code == 412:
            raise errors.PreconditionFailed
        response["ETag"] = etag
        response["Cache-Control"] = CACHE_CONTROL
        return response


# Scripts and styles are files of this server, and only this server is asked: a key that is tried
# in the page cannot be sent elsewhere.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page(request: HttpRequest) -> HttpResponse:
    """The page. Its commands name the address that it was called by."""
    if request.method not in ("GET", "HEAD"):
        return error_response(MethodNotAllowed())
    facts = {
        "base": request.build_absolute_uri("/").rstrip("/"),
        "limit": LIMIT_MAX,
        "rate": REQUESTS_PER_MINUTE,
    }
    response = render(request, "docs.html", facts)
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response
