"""The documents endpoints: list, detail, download."""

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from config.api import ApiViewSet
from config.errors import DocumentNotFound
from documents import describe, describe_download, downloads, parameters
from documents.models import Document, DocumentQuerySet
from documents.pagination import KeysetPagination
from documents.serializers import DOCUMENT_COLUMNS, documents_json


def visible(request: Request) -> DocumentQuerySet:
    """The documents a request can reach: its key's workspace, deleted ones left out."""
    key: Any = request.auth
    return Document.objects.in_workspace(key.workspace).not_deleted()


def with_id(documents: DocumentQuerySet, document_id: str) -> DocumentQuerySet:
    """Narrowed to one id. A malformed id is one that no document has.

    Raises:
        DocumentNotFound: the text is no UUID.
    """
    try:
        parsed = UUID(document_id)
    except ValueError:
        raise DocumentNotFound from None
    if str(parsed) != document_id.lower():
        raise DocumentNotFound
    return documents.filter(pk=parsed)


class DocumentViewSet(ApiViewSet):
    """The documents of the key's workspace."""

    @describe.list_documents
    def list(self, request: Request) -> Response:
        paginator = KeysetPagination()
        rows = paginator.paginate_queryset(
            visible(request).values_list(*DOCUMENT_COLUMNS, named=True), request
        )
        return paginator.get_paginated_response(documents_json(rows))

    @describe.get_document
    def retrieve(self, request: Request, id: str) -> Response:
        row = with_id(visible(request), id).values_list(*DOCUMENT_COLUMNS).first()
        if row is None:
            raise DocumentNotFound
        return Response({"data": documents_json([row])[0]})

    @describe_download.download_document
    def download(self, request: Request, id: str) -> HttpResponseBase:
        wanted = parameters.file_type(request.query_params)
        document = (
            with_id(visible(request), id)
            .select_related("original", "signed", "certificate")
            .first()
        )
        if document is None:
            raise DocumentNotFound
        return downloads.answer(request, document, downloads.choose_type(document, wanted))


class UnknownDocumentPath(ApiViewSet):
    """A path below /documents/ that no endpoint has: an id with a slash in it, for one."""

    schema = None  # described with the other unknown paths

    def retrieve(self, request: Request, rest: str) -> Response:
        raise DocumentNotFound
