"""GET /search."""

from django.http import QueryDict
from msgspec import to_builtins
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.cursors import decode_cursor, encode_cursor
from config.api.parameters import limit, single
from config.api.responses import as_json, conditional, link_to_next
from config.api.viewsets import ApiViewSet
from documents.api.documents import DocumentPosition, with_recipients
from documents.api.objects import DocumentPage
from documents.search.parameters import CURSOR_EXPECTED, read
from documents.search.queries import search


class SearchViewSet(ApiViewSet):
    def list(self, request: Request) -> Response:
        query: QueryDict = request.query_params
        asked, size = read(query), limit(query)
        workspace_id = self.key.workspace_id
        purpose = f"search:{workspace_id}:{as_json(asked).decode()}"
        after = None
        if cursor := single(query, "cursor", CURSOR_EXPECTED):
            after = decode_cursor(cursor, DocumentPosition, purpose, "cursor", CURSOR_EXPECTED)
        found = search(workspace_id, asked, after, size)
        page = DocumentPage(with_recipients(found.rows), None)
        headers = {}
        if found.next:
            page.next_cursor = encode_cursor(found.next, purpose)
            given = {**dict(query.lists()), "limit": size, "cursor": page.next_cursor}
            headers = link_to_next(request.path, **given)
        if found.searched_to:
            headers["Searched-To"] = to_builtins(found.searched_to)
        return conditional(request, Response(page, headers=headers))
