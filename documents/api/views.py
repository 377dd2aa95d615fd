"""GET /documents and GET /documents/{id}."""

from django.http import HttpResponse

from config.api.request import ApiRequest, Reading
from config.api.responses import cacheable_response
from config.api.viewsets import ApiViewSet
from documents.api import queries
from documents.api.pagination import KeysetPagination
from documents.api.serializers import DocumentAnswer, document_object


class DocumentViewSet(ApiViewSet):
    """The documents of the key's workspace."""

    def list(self, request: ApiRequest) -> HttpResponse:
        paginator = KeysetPagination(request.auth.workspace_id)
        page = paginator.paginate_queryset(queries.newest, request)
        return paginator.get_paginated_response([document_object(*each) for each in page])

    def reading(self, **kwargs: str) -> Reading | None:
        return queries.with_id(kwargs["id"], queries.ONE) if "id" in kwargs else None

    def retrieve(self, request: ApiRequest, id: str) -> HttpResponse:
        document = document_object(*queries.with_recipients(request.rows()))
        return cacheable_response(request, DocumentAnswer(document))
