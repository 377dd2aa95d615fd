"""What a consumer writes with the client that openapi-python-client generates.

It reads all pages, reads one document, downloads, and gets errors. Run by a test with the address
of a server and two keys; the plan of the second key's workspace lacks the API. It prints what it
found as JSON; its types are checked against those that were generated.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, assert_type
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
    ListDocumentsStatus,
    ListEventsType,
    Me,
    PlanError,
    Recipient,
    RecipientRole,
    RecipientStatus,
    SigningOrder,
    WorkspaceDocument,
)
from read_api.types import UNSET, File, Response


def read_all(
    client: AuthenticatedClient, limit: int, status: ListDocumentsStatus | None = None
) -> Iterator[WorkspaceDocument]:
    """Every document, page by page."""
    cursor: str | None = None
    while True:
        page = list_documents.sync(
            client=client, limit=limit, cursor=cursor or UNSET, status=status or UNSET
        )
        assert isinstance(page, DocumentPage), page
        assert len(page.data) <= limit
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
    assert isinstance(assert_type(document.file_size, int), int)
    assert assert_type(document.created_at, datetime).tzinfo == UTC
    for moment in (document.sent_at, document.completed_at, document.expires_at):
        assert_type(moment, datetime | None)
        assert moment is None or moment.tzinfo == UTC
    assert document.links.self_ == f"/api/v1/documents/{document.id}"
    assert document.progress.total <= len(document.recipients)
    assert document.additional_properties == {}
    for person in document.recipients:
        assert isinstance(assert_type(person.id, UUID), UUID)
        assert isinstance(assert_type(person.role, RecipientRole), RecipientRole)
        assert isinstance(assert_type(person.status, RecipientStatus), RecipientStatus)
        assert isinstance(assert_type(person.decline_reason, str | None), str | None)
        assert person.additional_properties == {}


def waiting(document: WorkspaceDocument) -> list[tuple[str, str | None]]:
    """Who still has to sign, and since when they have known of it."""

    def asked(person: Recipient) -> bool:
        done = (RecipientStatus.RECIPIENT_STATUS_SIGNED, RecipientStatus.RECIPIENT_STATUS_APPROVED)
        return person.role == RecipientRole.RECIPIENT_ROLE_SIGNER and person.status not in done

    return [
        (person.email, person.sent_at.isoformat() if person.sent_at else None)
        for person in document.recipients
        if asked(person)
    ]


def refused(response: Response[Any]) -> tuple[int, str, dict[str, Any]]:
    """The status, code and body of an error; the request must have failed."""
    assert isinstance(response.parsed, ErrorBody | PlanError), response
    return response.status_code, response.headers["error-code"], response.parsed.to_dict()


def main(base_url: str, key: str, unpaid_key: str) -> None:
    client = AuthenticatedClient(base_url=base_url, token=key)
    me = get_me.sync(client=client)
    assert isinstance(me, Me), me
    found = list(read_all(client, limit=3))
    for document in found:
        check_types(document)
    complete = [d.id for d in read_all(client, 1, ListDocumentsStatus.COMPLETED)]

    answer = get_document.sync(complete[0], client=client)
    assert isinstance(answer, DocumentAnswer), answer
    check_types(answer.data)
    file = download_document.sync(complete[0], client=client, type_=DownloadDocumentType.SIGNED)
    assert isinstance(file, File), file
    part = download_document.sync(complete[0], client=client, range_="bytes=0-4")
    assert isinstance(part, File), part

    events = list_events.sync(client=client, type_=ListEventsType.DOCUMENT_COMPLETED)
    assert isinstance(events, EventPage), events
    later = list_events.sync(
        client=client, after=events.next_cursor, type_=ListEventsType.DOCUMENT_COMPLETED
    )
    assert isinstance(later, EventPage), later

    none = get_document.sync_detailed(UUID(int=0), client=client)
    stranger = AuthenticatedClient(base_url=base_url, token="dtd_x")
    unpaid = AuthenticatedClient(base_url=base_url, token=unpaid_key)

    print(  # noqa: T201
        json.dumps(
            {
                "me": me.to_dict(),
                "ids": [str(document.id) for document in found],
                "complete": [str(id) for id in complete],
                "waiting": {str(document.id): waiting(document) for document in found},
                "read": answer.to_dict(),
                "sha256": hashlib.sha256(file.payload.read()).hexdigest(),
                "part": part.payload.read().decode(),
                "events": [[event.to_dict() for event in page.data] for page in (events, later)],
                "none": refused(none),
                "stranger": refused(get_me.sync_detailed(client=stranger)),
                "unpaid": refused(get_me.sync_detailed(client=unpaid)),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
