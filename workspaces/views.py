"""GET /api/v1/me."""

from uuid import UUID

from django.http import HttpResponse

from config.api.request import ApiRequest
from config.api.responses import json_response
from config.api.viewsets import ApiViewSet
from config.database import fetch
from workspaces import schema as describe

SHOWN = ("DRAFT", "SENT", "COMPLETED")  # SPEC: the statuses that GET /me counts

_COUNTS = """
    SELECT status, sum(count)::bigint FROM "workspaces_documentcount"
    WHERE workspace_id = %s GROUP BY status
"""


def document_counts(workspace_id: UUID) -> dict[str, int]:
    """The workspace's documents that are exactly DRAFT, SENT and COMPLETED, as `/me` says it."""
    found: dict[str, int] = dict(fetch(_COUNTS, (workspace_id,)))
    return {status.lower(): found.get(status, 0) for status in SHOWN}


class MeViewSet(ApiViewSet):
    """Which workspace and key a request uses, with document counts by status."""

    @describe.me
    def retrieve(self, request: ApiRequest) -> HttpResponse:
        key = request.auth
        return json_response(
            {
                "data": {
                    "workspace": {"id": key.workspace_id, "name": key.workspace_name},
                    "key": {"id": key.id, "name": key.name},
                    "documents": document_counts(key.workspace_id),
                }
            }
        )
