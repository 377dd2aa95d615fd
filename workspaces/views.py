"""GET /api/v1/me."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from config.api import ApiViewSet
from workspaces import describe


class MeViewSet(ApiViewSet):
    """Which workspace and key a request uses, with document counts by status."""

    @describe.me
    def retrieve(self, request: Request) -> Response:
        key: Any = request.auth
        workspace = key.workspace
        return Response(
            {
                "data": {
                    "workspace": {"id": workspace.id, "name": workspace.name},
                    "key": {"id": key.id, "name": key.name},
                    "documents": workspace.documents.not_deleted().counts(),
                }
            }
        )
