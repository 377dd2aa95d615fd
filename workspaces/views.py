from rest_framework.request import Request
from rest_framework.response import Response

from config.api.responses import conditional
from config.api.viewsets import ApiViewSet
from workspaces.counts import counts
from workspaces.serializers import Key, Me, Summary, Workspace


class MeViewSet(ApiViewSet):
    def retrieve(self, request: Request) -> Response:
        key = self.key
        summary = Summary(
            workspace=Workspace(key.workspace_id, key.workspace_name),
            key=Key(key.id, key.name),
            documents=counts(key.workspace_id),
        )
        return conditional(request, Response(Me(summary)))
