"""Keyset pagination, newest first, with an opaque, signed cursor.

A cursor contains the position (created_at, id) of the last document of a page. Documents that are
inserted later come before it, so paging through the list shows each document that existed at the
start exactly once, unless it is deleted, or no longer has the status of the filter, before its
page is requested.
"""

import struct
from typing import Any
from uuid import UUID

from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.api.cursors import from_microseconds, sign, to_microseconds, unsign
from config.api.parameters import limit, one_of, single
from config.api.responses import cacheable_response, link_to_next
from documents.api.documents import Position, WorkspaceDocuments
from documents.api.objects import DocumentPage, WorkspaceDocument
from documents.api.parameters import CURSOR_EXPECTED, STATUS_FILTER

_POSITION = struct.Struct(">q16s")  # microseconds since the epoch, and the id


def _purpose(workspace_id: UUID, filter: str | None) -> str:
    return f"documents.cursor:{workspace_id}:{filter or ''}"


def encode_cursor(position: Position, workspace_id: UUID, filter: str | None) -> str:
    """The cursor of the page after a position; `filter` is a status, or a search as text."""
    packed = _POSITION.pack(to_microseconds(position.time), position.id.bytes)
    return sign(packed, _purpose(workspace_id, filter))


def decode_cursor(
    cursor: str, workspace_id: UUID, filter: str | None, expected: str = CURSOR_EXPECTED
) -> Position:
    """The position in a cursor; InvalidParameter if it is of another workspace or filter."""
    packed = unsign(cursor, _purpose(workspace_id, filter), "cursor", expected)
    microseconds, id_bytes = _POSITION.unpack(packed)
    return Position(from_microseconds(microseconds), UUID(bytes=id_bytes))


class KeysetPagination(BasePagination):
    """DRF's paginator for documents; it validates `status`, `limit` and `cursor`."""

    def paginate_queryset(  # type: ignore[override]
        self, queryset: WorkspaceDocuments, request: Request, view: APIView | None = None
    ) -> list[WorkspaceDocument]:
        self.request, self.workspace_id = request, queryset.workspace_id
        query = request.query_params
        self.status = one_of(query, "status", STATUS_FILTER)
        self.limit = limit(query)
        cursor = single(query, "cursor", CURSOR_EXPECTED)
        after = decode_cursor(cursor, self.workspace_id, self.status) if cursor else None
        page, self.next_position = queryset.newest(self.status, after, self.limit)
        return page

    def get_paginated_response(self, data: Any) -> Response:
        """A page as the API's list body, with a link to the next one."""
        page = DocumentPage(data, None)
        headers = {}
        if self.next_position:
            page.next_cursor = encode_cursor(self.next_position, self.workspace_id, self.status)
            headers = link_to_next(
                self.request.path, status=self.status, limit=self.limit, cursor=page.next_cursor
            )
        return cacheable_response(self.request, page, headers)
