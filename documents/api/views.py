"""GET /documents and GET /documents/{id}."""

from typing import NoReturn

from django.http import HttpResponse

from config.api.errors import DocumentNotFound
from config.api.request import ApiRequest
from config.api.responses import cacheable_response
from config.api.viewsets import ApiViewSet
from documents.api import queries, schema
from documents.api.pagination import KeysetPagination
from documents.api.serializers import DocumentAnswer, document_objects


class DocumentViewSet(ApiViewSet):
    """The documents of the key's workspace."""

    @schema.list_documents
    def list(self, request: ApiRequest) -> HttpResponse:
        paginator = KeysetPagination(request.auth.workspace_id)
        rows = paginator.paginate_queryset(queries.newest, request)
        documents = document_objects(rows, queries.recipients_of(rows))
        return paginator.get_paginated_response(documents)

    @schema.get_document
    def retrieve(self, request: ApiRequest, id: str) -> HttpResponse:
        rows = [queries.one(request.auth.workspace_id, id)]
        [document] = document_objects(rows, queries.recipients_of(rows))
        return cacheable_response(request, DocumentAnswer(document))


class UnknownDocumentPath(ApiViewSet):
    """A path below /documents/ that no endpoint has, such as an id with a slash in it."""

    schema = None  # the schema describes it with the other unknown paths

    def retrieve(self, request: ApiRequest, rest: str) -> NoReturn:
        raise DocumentNotFound
