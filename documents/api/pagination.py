"""Keyset pagination, newest first.

A cursor contains the position (created_at, id) of the last document of a page. Documents that are
inserted later come before it, so paging through the list shows each document that existed at the
start exactly once, unless it is deleted, or no longer matches the filters, before its page is
requested.
"""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.api.cursors import decode_cursor, encode_cursor
from config.api.parameters import limit, single
from config.api.responses import link_to_next
from documents.api.documents import DocumentPosition
from documents.api.objects import DocumentPage

CURSOR_EXPECTED = "the nextCursor of the previous page, with the same filters"


class KeysetPagination(BasePagination):
    """Pages of `Documents`; `?limit=` and `?cursor=`.

    A cursor only works with the workspace and the filters of its page.
    """

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any]:
        self.path = request.path
        self.filters = queryset.filters
        self.purpose = f"documents:{queryset.workspace_id}:{urlencode(self.filters)}"
        self.limit = limit(request.query_params)
        cursor = single(request.query_params, "cursor", CURSOR_EXPECTED)
        if cursor:
            position = decode_cursor(
                cursor, DocumentPosition, self.purpose, "cursor", CURSOR_EXPECTED
            )
            queryset = queryset.after(position)
        rows: list[Any] = queryset.first(self.limit + 1)
        self.has_next = len(rows) > self.limit
        return rows[: self.limit]

    def get_paginated_response(self, data: Any) -> Response:
        if not self.has_next:
            return Response(DocumentPage(data, None))
        last = data[-1]
        cursor = encode_cursor(DocumentPosition(last.created_at, UUID(last.id)), self.purpose)
        link = link_to_next(self.path, **self.filters, limit=self.limit, cursor=cursor)
        return Response(DocumentPage(data, cursor), headers=link)
