"""GET /documents/{id}/download."""

from django.http.response import HttpResponseBase

from config.api.request import ApiRequest
from config.api.viewsets import ApiViewSet
from documents.api import parameters
from documents.download import schema
from documents.download.queries import files_of
from documents.download.response import Download, download_response


class DownloadViewSet(ApiViewSet):
    """The PDFs of a document."""

    @schema.download_document
    def retrieve(self, request: ApiRequest, id: str) -> HttpResponseBase:
        requested = parameters.file_type(request.query_params)
        document = files_of(request.auth.workspace_id, id)
        return download_response(request, Download.choose(document, requested, request.auth))
