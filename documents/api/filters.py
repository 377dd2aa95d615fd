"""The filter of GET /documents."""

from typing import Any

from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request
from rest_framework.views import APIView

from config.api.parameters import one_of

# SPEC: PARTIALLY_SIGNED is a status but not a filter value.
STATUSES = ("DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED")


class StatusFilter(BaseFilterBackend):
    def filter_queryset(self, request: Request, queryset: Any, view: APIView) -> Any:
        query = request.query_params
        if "status" in query:
            return queryset.with_status(one_of(query, "status", STATUSES))
        return queryset
