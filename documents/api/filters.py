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
        if "status" not in request.query_params:
            return queryset
        return queryset.with_status(one_of(request.query_params, "status", STATUSES))
