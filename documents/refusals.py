"""The true reasons of a 404 about a document, for support; clients must not know them."""

import re
from collections.abc import Sequence
from urllib.parse import unquote
from uuid import UUID

from config.api.errors import DocumentNotComplete, DocumentNotFound
from config.refusals import Explanation, RefusedPath, register
from documents.api.queries import document_id
from documents.models import Document

_DOCUMENT_PATH = re.compile(r"/api/v1/documents/([^/]+)(?:/download)?")


def register_reasons() -> None:
    register(DocumentNotFound, explain_missing)
    register(DocumentNotComplete, explain_incomplete)


def explain_missing(requests: Sequence[RefusedPath]) -> list[Explanation]:
    """Why there was no such document: as the database is now, in one query for all."""
    found = _documents(requests)
    return [_missing(each, found) for each in requests]


def explain_incomplete(requests: Sequence[RefusedPath]) -> list[Explanation]:
    """The status of documents whose signed file or certificate did not exist yet."""
    found = _documents(requests)
    explained = []
    for each in requests:
        document = found.get(_id(each) or "")
        state = f"it is {document.status} now" if document else "it does not exist any more"
        text = f"The document was not complete when the file was requested; {state}."
        explained.append(Explanation(text, document.pk if document else None))
    return explained


def _id(request: RefusedPath) -> str | None:
    """The document's id in the path; None if it is malformed."""
    match = _DOCUMENT_PATH.fullmatch(unquote(request.path))
    id = document_id(match[1] if match else "")
    return None if id is None else str(id)


def _documents(requests: Sequence[RefusedPath]) -> dict[str, Document]:
    ids = {id for each in requests if (id := _id(each))}
    documents = Document.objects.filter(pk__in=ids).select_related("workspace")
    return {str(document.pk): document for document in documents}


def _missing(request: RefusedPath, found: dict[str, Document]) -> Explanation:
    id = _id(request)
    if id is None:
        text = "The id in the path is malformed: it must be a UUID of 36 characters."
        return Explanation(text, None)
    document = found.get(id)
    if document is None:
        return Explanation("No document has this id.", UUID(id))
    return Explanation(_hidden(document, request), document.pk)


def _hidden(document: Document, request: RefusedPath) -> str:
    """Why the workspace does not have a document that exists."""
    if document.workspace_id != request.workspace_id:
        return (
            f"The document belongs to another workspace: “{document.workspace.name}” "
            f"({document.workspace_id})."
        )
    if document.deleted_at:
        return f"The document was deleted at {document.deleted_at:%Y-%m-%d %H:%M:%S} UTC."
    return "The document exists now: it was created or restored after the request."
