"""GET /api/v1/me."""

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from config.answers import json_answer
from config.api import ApiViewSet
from workspaces import describe
from workspaces.counting import document_counts


class MeViewSet(ApiViewSet):
    """Which workspace and key a request uses, with document counts by status."""

    @describe.me
    def retrieve(self, request: Request) -> HttpResponse:
        key: Any = request.auth
        return json_answer(
            {
                "data": {
                    "workspace": {"id": key.workspace_id, "name": key.workspace_name},
                    "key": {"id": key.id, "name": key.name},
                    "documents": document_counts(key.workspace_id),
                }
            }
        )
