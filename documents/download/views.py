"""GET /documents/{id}/download."""

from django.http.response import HttpResponseBase

from config.api.parameters import one_of
from config.api.request import ApiRequest, Reading
from config.api.viewsets import ApiViewSet
from documents.api.parameters import FILE_TYPES
from documents.api.queries import with_id
from documents.download.file_choice import Download
from documents.download.queries import FILES, with_files
from documents.download.response import download_response


class DownloadViewSet(ApiViewSet):
    """The PDFs of a document."""

    def reading(self, **kwargs: str) -> Reading | None:
        return with_id(kwargs["id"], FILES)

    def retrieve(self, request: ApiRequest, id: str) -> HttpResponseBase:
        requested = one_of(request.query_params, "type", FILE_TYPES)
        document = with_files(request.rows())
        return download_response(request, Download.choose(document, requested, request.auth))
