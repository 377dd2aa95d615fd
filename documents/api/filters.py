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
        status = one_of(request.query_params, "status", STATUSES)
        return queryset.with_status(status) if status else queryset
