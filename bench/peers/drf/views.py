"""Viewsets, and DRF's own cursor pagination."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.db.models import Prefetch, QuerySet, Sum
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ReadOnlyModelViewSet

from bench.peers.drf.serializers import DocumentSerializer
from documents.models import Document, Recipient
from workspaces.models import DocumentCount

FILTERS = ("DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED")


class DocumentPagination(CursorPagination):
    ordering = ("-created_at", "-id")
    page_size = 25
    page_size_query_param = "limit"
    max_page_size = 100

    def get_paginated_response(self, data: Any) -> Response:
        link = self.get_next_link()
        cursor = parse_qs(urlsplit(link).query)["cursor"][0] if link else None
        return Response({"data": data, "nextCursor": cursor})


class DocumentViewSet(ReadOnlyModelViewSet[Document]):
    serializer_class = DocumentSerializer
    pagination_class = DocumentPagination

    def get_queryset(self) -> QuerySet[Document]:
        key: Any = self.request.auth
        documents = Document.objects.filter(workspace=key.workspace, deleted_at=None)
        status = self.request.query_params.get("status")
        if status is not None:
            if status not in FILTERS:
                raise ValidationError({"status": f"One of {', '.join(FILTERS)}."})
            documents = documents.filter(status=status)
        recipients = Recipient.objects.order_by("order", "id")
        return documents.prefetch_related(Prefetch("recipients", recipients))

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return Response({"data": self.get_serializer(self.get_object()).data})


class MeView(APIView):
    def get(self, request: Request) -> Response:
        key: Any = request.auth
        counts = dict.fromkeys(("draft", "sent", "completed"), 0)
        found = (
            DocumentCount.objects.filter(
                workspace_id=key.workspace.pk,
                status__in=[status.upper() for status in counts],
            )
            .values_list("status")
            .annotate(Sum("count"))
        )
        for status, count in found:
            counts[status.lower()] = count
        workspace = {"id": key.workspace.pk, "name": key.workspace.name}
        data = {
            "workspace": workspace,
            "key": {"id": key.pk, "name": key.name},
            "documents": counts,
        }
        return Response({"data": data})
