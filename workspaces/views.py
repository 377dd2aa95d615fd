"""GET /api/v1/me."""

from uuid import UUID

from django.http import HttpResponse

from config.api.request import ApiRequest
from config.api.responses import cacheable_response
from config.api.viewsets import ApiViewSet
from config.database import fetch
from workspaces import schema
from workspaces.serializers import Counts, Key, Me, Summary, Workspace

_COUNTS = """
    SELECT status, sum(count)::bigint FROM "workspaces_documentcount"
    WHERE workspace_id = %s GROUP BY status
"""


def document_counts(workspace_id: UUID) -> Counts:
    """How many documents of the workspace have exactly each status that GET /me counts."""
    found: dict[str, int] = dict(fetch(_COUNTS, (workspace_id,)))
    return Counts(
        draft=found.get("DRAFT", 0),
        sent=found.get("SENT", 0),
        completed=found.get("COMPLETED", 0),
    )


class MeViewSet(ApiViewSet):
    """Which workspace and key a request uses, with document counts by status."""

    @schema.get_me
    def retrieve(self, request: ApiRequest) -> HttpResponse:
        key = request.auth
        summary = Summary(
            workspace=Workspace(key.workspace_id, key.workspace_name),
            key=Key(key.id, key.name),
            documents=document_counts(key.workspace_id),
        )
        return cacheable_response(request, Me(summary))
