"""GET /documents and GET /documents/{id}."""

from rest_framework.request import Request
from rest_framework.response import Response

from config.api.responses import cacheable_response
from config.api.viewsets import ApiViewSet
from documents.api.documents import WorkspaceDocuments
from documents.api.objects import DocumentAnswer
from documents.api.pagination import KeysetPagination


class DocumentViewSet(ApiViewSet):
    pagination_class = KeysetPagination

    def get_queryset(self) -> WorkspaceDocuments:  # type: ignore[override]
        return WorkspaceDocuments(self.key.workspace_id)

    def list(self, request: Request) -> Response:
        page = self.paginate_queryset(self.get_queryset())  # type: ignore[arg-type]
        return self.get_paginated_response(page)

    def retrieve(self, request: Request, id: str) -> Response:
        return cacheable_response(request, DocumentAnswer(self.get_queryset().one(id)))
