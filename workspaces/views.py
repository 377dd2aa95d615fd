"""GET /api/v1/me."""

from django.http import HttpResponse

from config.api.request import ApiRequest, Reading
from config.api.responses import cacheable_response
from config.api.viewsets import ApiViewSet
from workspaces.counts import COUNTS
from workspaces.serializers import Counts, Key, Me, Summary, Workspace


class MeViewSet(ApiViewSet):
    """Which workspace and key a request uses, with document counts by status."""

    def reading(self, **kwargs: str) -> Reading:
        return COUNTS

    def retrieve(self, request: ApiRequest) -> HttpResponse:
        key = request.auth
        [counts] = request.rows()
        summary = Summary(
            workspace=Workspace(key.workspace_id, key.workspace_name),
            key=Key(key.id, key.name),
            documents=Counts(*counts),
        )
        return cacheable_response(request, Me(summary))
