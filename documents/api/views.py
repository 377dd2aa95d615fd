"""GET /documents and GET /documents/{id}."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from config.api.parameters import one_of
from config.api.responses import conditional
from config.api.viewsets import ApiViewSet
from documents.api.documents import Documents, with_recipients
from documents.api.objects import DocumentAnswer
from documents.api.pagination import KeysetPagination

# SPEC: PARTIALLY_SIGNED is a status but not a filter value.
STATUSES = ("DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED")


class DocumentViewSet(ApiViewSet):
    pagination_class = KeysetPagination

    def list(self, request: Request) -> Response:
        documents: Any = Documents(self.key.workspace_id)
        if status := one_of(request.query_params, "status", STATUSES):
            documents = documents.with_status(status)
        page: Any = self.paginate_queryset(documents)
        response = self.get_paginated_response(with_recipients(page))
        return conditional(request, response)

    def retrieve(self, request: Request, id: str) -> Response:
        document = Documents(self.key.workspace_id).one(id)
        return conditional(request, Response(DocumentAnswer(document)))
