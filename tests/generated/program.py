"""What a consumer writes with the client that openapi-python-client generates.

Run by a test with the address of a server and a key. It reads all pages, one document, a PDF and
events, and gets an error; it prints what it found as JSON. Its types are checked against those
that were generated.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import assert_type
from uuid import UUID

from read_api import AuthenticatedClient
from read_api.api.documents import download_document, get_document, list_documents
from read_api.api.events import list_events
from read_api.api.workspace import get_me
from read_api.models import (
    DocumentAnswer,
    DocumentPage,
    DocumentStatus,
    DownloadDocumentType,
    ErrorBody,
    EventPage,
    ListEventsType,
    Me,
    RecipientRole,
    RecipientStatus,
    SigningOrder,
    WorkspaceDocument,
)
from read_api.types import UNSET, File


def read_all(client: AuthenticatedClient, limit: int) -> Iterator[WorkspaceDocument]:
    """Every document, page by page."""
    cursor: str | None = None
    while True:
        page = list_documents.sync(client=client, limit=limit, cursor=cursor or UNSET)
        assert isinstance(page, DocumentPage), page
        yield from page.data
        cursor = page.next_cursor
        if cursor is None:
            return


def check_types(document: WorkspaceDocument) -> None:
    """The values are of the types that the client declares, and nothing is left over."""
    assert isinstance(assert_type(document.id, UUID), UUID)
    assert isinstance(assert_type(document.status, DocumentStatus), DocumentStatus)
    assert isinstance(assert_type(document.signing_order, SigningOrder), SigningOrder)
    assert isinstance(assert_type(document.page_count, int), int)
    assert assert_type(document.created_at, datetime).tzinfo == UTC
    assert_type(document.completed_at, datetime | None)
    assert document.links.self_ == f"/api/v1/documents/{document.id}"
    assert document.additional_properties == {}
    for person in document.recipients:
        assert isinstance(assert_type(person.role, RecipientRole), RecipientRole)
        assert isinstance(assert_type(person.status, RecipientStatus), RecipientStatus)
        assert_type(person.decline_reason, str | None)
        assert person.additional_properties == {}


def main(base_url: str, key: str) -> None:
    client = AuthenticatedClient(base_url=base_url, token=key)
    me = get_me.sync(client=client)
    assert isinstance(me, Me), me
    found = list(read_all(client, limit=2))
    for document in found:
        check_types(document)
    [complete] = [each for each in found if each.status.value == "COMPLETED"]
    answer = get_document.sync(complete.id, client=client)
    assert isinstance(answer, DocumentAnswer), answer
    file = download_document.sync(complete.id, client=client, type_=DownloadDocumentType.SIGNED)
    assert isinstance(file, File), file
    events = list_events.sync(client=client, type_=ListEventsType.DOCUMENT_COMPLETED)
    assert isinstance(events, EventPage), events
    none = get_document.sync_detailed(UUID(int=0), client=client)
    assert isinstance(none.parsed, ErrorBody), none

    print(  # noqa: T201
        json.dumps(
            {
                "me": me.to_dict(),
                "ids": [str(document.id) for document in found],
                "read": answer.to_dict(),
                "sha256": hashlib.sha256(file.payload.read()).hexdigest(),
                "events": [event.to_dict() for event in events.data],
                "none": [none.status_code, none.headers["error-code"], none.parsed.to_dict()],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
