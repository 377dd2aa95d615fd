"""The documents endpoints: list, detail, download."""

from typing import Any, NoReturn

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from config.api.errors import DocumentNotFound
from config.api.responses import json_answer
from config.api.viewsets import ApiViewSet
from documents.api import parameters
from documents.api import queries as reading
from documents.api import schema as describe
from documents.api.pagination import KeysetPagination
from documents.api.serializers import document_objects
from documents.download import response as downloads
from documents.download import schema as describe_download


class DocumentViewSet(ApiViewSet):
    """The documents of the key's workspace."""

    @describe.list_documents
    def list(self, request: Request) -> HttpResponse:
        key: Any = request.auth
        paginator = KeysetPagination(key.workspace_id)
        rows = paginator.paginate_queryset(reading.newest, request)
        documents = document_objects(rows, reading.recipients_of(rows))
        return paginator.get_paginated_response(documents)

    @describe.get_document
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        key: Any = request.auth
        rows = [reading.one(key.workspace_id, id)]
        return json_answer({"data": document_objects(rows, reading.recipients_of(rows))[0]})

    @describe_download.download_document
    def download(self, request: Request, id: str) -> HttpResponseBase:
        key: Any = request.auth
        wanted = parameters.file_type(request.query_params)
        document = reading.files_of(key.workspace_id, id)
        return downloads.answer(request, document, downloads.choose_type(document, wanted))


class UnknownDocumentPath(ApiViewSet):
    """A path below /documents/ that no endpoint has: an id with a slash in it, for one."""

    schema = None  # described with the other unknown paths

    def retrieve(self, request: Request, rest: str) -> NoReturn:
        raise DocumentNotFound
