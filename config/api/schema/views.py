"""GET /api/v1/openapi.json: the OpenAPI document, generated from the code; and /api/docs."""

import hashlib
from functools import cache
from threading import Lock

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema, extend_schema_view

import apikeys.schema  # noqa: F401 - registers an extension of drf-spectacular
import config.api.schema.structs  # noqa: F401 - another one
from config.api import errors
from config.api.conditions import tag_of_copy
from config.api.limits import REQUESTS_PER_MINUTE
from config.api.parameters import LIMIT_MAX
from config.api.request import ApiRequest
from config.api.responses import JSON, as_json, error_response
from config.api.schema.headers import (
    ALLOW,
    ERROR_CODE,
    ERRORS,
    NOT_STORED_ERRORS,
    REQUEST_ID,
    constant,
    header,
    pattern,
    vary,
)
from config.api.schema.operations import other_paths, request_header, responses_of
from config.api.viewsets import ApiViewSet, UnknownPath

CACHE_CONTROL = "public, max-age=300"  # seconds until a client asks whether there is a newer one
ETAG = '"826aed33508f886a3b5bffa1989ce707a9312c9af6e354c906041481edc32013"'  # as an example

# Here, since `config.api` does not import the schema's modules.
extend_schema_view(retrieve=other_paths)(UnknownPath)

_generating = Lock()  # the generator keeps its state in globals


@cache
def document() -> tuple[bytes, str]:
    """The OpenAPI document as JSON, and its ETag; generated once per process."""
    with _generating:
        schema = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    content = as_json(schema)
    return content, f'"{hashlib.sha256(content).hexdigest()}"'


get_openapi = extend_schema(
    operation_id="get_openapi",
    summary="This OpenAPI document",
    description="This document, OpenAPI 3.1. It needs no key and does not count toward a limit.",
    tags=["Description"],
    parameters=[
        request_header(
            "If-None-Match", "`ETag`s that the client has; 304 if this is one of them.", ETag=ETAG
        ),
        request_header("If-Match", "`ETag`s; 412 if this is none of them.", ETag=ETAG),
        REQUEST_ID,
        ERROR_CODE,
        ALLOW,
        NOT_STORED_ERRORS,
        vary(ERRORS),
        header(
            "ETag",
            pattern('^(W/)?"[0-9a-f]{64}"$'),
            (200, 304),
            "A changed document has a different tag.",
        ),
        header(
            "Cache-Control",
            constant(CACHE_CONTROL),
            (200, 304),
            "How long a copy may be used without revalidation, in seconds.",
        ),
    ],
    responses={
        200: OpenApiResponse(
            OpenApiTypes.OBJECT,
            "An OpenAPI document.",
            [OpenApiExample("Description", {"openapi": "3.1.0", "info": {}, "paths": {}})],
        ),
        304: OpenApiResponse(None, "The client has the current document already."),
        **responses_of(
            errors.InvalidRequest(),
            errors.HttpsRequired(),
            errors.MethodNotAllowed(),
            errors.PreconditionFailed(),
            errors.ServerError(),
        ),
    },
)


class SchemaViewSet(ApiViewSet):
    """The OpenAPI document; no key is needed, and no request is counted."""

    authentication_classes = []
    throttle_classes = []
    permission_classes = []

    @get_openapi
    def retrieve(self, request: ApiRequest) -> HttpResponse:
        content, etag = document()
        headers = {"Cache-Control": CACHE_CONTROL, "ETag": etag}
        if tag := tag_of_copy(request, etag):
            return HttpResponseNotModified(headers={**headers, "ETag": tag})
        return HttpResponse(content, headers={**JSON, **headers})


# Scripts and styles are this server's own, and requests go to this server only: a key that is
# tried in the page cannot be sent elsewhere.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page(request: HttpRequest) -> HttpResponse:
    """The documentation page. Its commands have the address that it was requested with."""
    if request.method not in ("GET", "HEAD"):
        return error_response(errors.MethodNotAllowed())
    context = {
        "base": request.build_absolute_uri("/").rstrip("/"),
        "limit": LIMIT_MAX,
        "rate": REQUESTS_PER_MINUTE,
        "version": settings.SPECTACULAR_SETTINGS["VERSION"],
    }
    response = render(request, "docs.html", context)
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response
