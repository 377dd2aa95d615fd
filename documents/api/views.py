"""GET /documents and GET /documents/{id}."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from config.api.responses import conditional
from config.api.viewsets import ApiViewSet
from documents.api.documents import Documents, with_recipients
from documents.api.filters import StatusFilter
from documents.api.objects import DocumentAnswer
from documents.api.pagination import KeysetPagination


class DocumentViewSet(ApiViewSet):
    filter_backends = [StatusFilter]
    pagination_class = KeysetPagination

    def get_queryset(self) -> Any:
        return Documents.of(self.key.workspace_id)

    def list(self, request: Request) -> Response:
        documents = self.filter_queryset(self.get_queryset())
        page: Any = self.paginate_queryset(documents)
        response = self.get_paginated_response(with_recipients(page))
        return conditional(request, response)

    def retrieve(self, request: Request, id: str) -> Response:
        # Not `get_object`: it filters too, and `status` is a parameter of the list only.
        document = self.get_queryset().one(id)
        return conditional(request, Response(DocumentAnswer(document)))
