"""Lists that a streaming replica serves: what is read there, and walks that change the server."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count
from urllib.parse import quote

import pytest

from documents.models import Document
from tests import factories
from tests.client import forget_requests
from tests.factories import Tenant, at
from tests.replica import ReadingServer
from tests.server import eventually
from tests.test_events import settled
from workspaces import changes
from workspaces.plans import Plan

# A moment for each document of a walk; imported ones come in between.
NEWEST_FIRST = [at(f"2026-03-{31 - number:02} 00:00:00") for number in range(31)]


def page(
    server: ReadingServer, tenant: Tenant, cursor: str | None = None, query: str = "limit=100"
) -> tuple[list[str], str | None]:
    """The ids of a page, and its nextCursor."""
    query += f"&cursor={quote(cursor)}" if cursor else ""
    response = server.get(f"/documents?{query}", tenant.raw)
    assert response.status == 200, response
    body = response.json()
    return [document["id"] for document in body["data"]], body["nextCursor"]


def imported(tenant: Tenant, moments: Sequence[datetime], status: str = "SENT") -> list[str]:
    """The ids of new documents that were created at these moments."""
    documents = factories.listed(
        tenant.workspace, len(moments), created_at=lambda n: moments[n], status=status
    )
    return [str(document.id) for document in documents]


def uses_replica_again(server: ReadingServer, tenant: Tenant) -> None:
    """Waits until lists are read from the replica."""
    before = server.pages()

    def read() -> bool:
        page(server, tenant)
        forget_requests()  # of the rate limit
        return server.pages() > before

    assert eventually(read), server.log()


def test_list_is_read_from_the_replica_and_all_else_from_the_primary(
    patient_reader: ReadingServer, acme: Tenant
) -> None:
    before = str(factories.document(acme.workspace).id)
    patient_reader.replica.catch_up()
    patient_reader.replica.pause()
    after = str(factories.document(acme.workspace, "COMPLETED").id)
    assert page(patient_reader, acme)[0] == [before]
    assert patient_reader.get(f"/documents/{after}", acme.raw).status == 200
    counts = patient_reader.get("/me", acme.raw).json()["data"]["documents"]
    assert counts == {"draft": 0, "sent": 1, "completed": 1}
    patient_reader.replica.resume()
    patient_reader.replica.catch_up()
    assert page(patient_reader, acme)[0] == [after, before]


def test_download_of_a_document_that_an_event_has_named_is_found(
    patient_reader: ReadingServer, acme: Tenant
) -> None:
    patient_reader.replica.pause()
    document = str(factories.document(acme.workspace, "COMPLETED").id)
    assert eventually(settled)
    events = patient_reader.get("/events?type=document.completed", acme.raw).json()["data"]
    assert [event["data"]["id"] for event in events] == [document]
    assert patient_reader.get(f"/documents/{document}/download", acme.raw).status == 200


def test_key_and_access_are_checked_at_the_primary(
    patient_reader: ReadingServer, acme: Tenant, umbrella: Tenant
) -> None:
    factories.document(acme.workspace)
    patient_reader.replica.catch_up()
    patient_reader.replica.pause()
    page(patient_reader, acme)
    acme.key.revoke(by=acme.admin)
    assert patient_reader.get("/documents", acme.raw).status == 401
    _, new = factories.issue(acme.workspace, "new", acme.admin)
    assert patient_reader.get("/documents", new).status == 200
    changes.change_plan(acme.workspace, Plan.FREE, by="olga", reason="test")
    assert patient_reader.get("/documents", new).status == 402
    changes.set_suspended(umbrella.workspace, True, by="olga", reason="test")
    assert patient_reader.get("/documents", umbrella.raw).status == 403


def test_copy_that_begins_with_a_cursor_of_events_misses_no_change(
    reader: ReadingServer, acme: Tenant
) -> None:
    """The three steps of `list_events`, while the list does not show a change that is an event."""
    document = factories.document(acme.workspace, "DRAFT")
    reader.replica.catch_up()
    reader.replica.pause()
    Document.objects.filter(pk=document.pk).update(status="SENT")
    cursor = reader.get("/events?after=now", acme.raw).json()["nextCursor"]
    status = reader.get("/documents", acme.raw).json()["data"][0]["status"]
    assert eventually(settled)
    events = reader.get(f"/events?after={quote(cursor)}", acme.raw).json()["data"]
    assert status == "SENT" or "SENT" in [event["data"]["status"] for event in events]


def test_walk_that_began_at_the_primary_does_not_go_on_with_an_older_state(
    patient_reader: ReadingServer, acme: Tenant
) -> None:
    imported(acme, NEWEST_FIRST[::2])
    patient_reader.replica.catch_up()
    patient_reader.replica.pause()
    imported(acme, NEWEST_FIRST[1::2])
    patient_reader.link.refuse()
    assert patient_reader.leaves_replica()
    seen, cursor = page(patient_reader, acme, query="limit=10")
    patient_reader.link.restore()
    uses_replica_again(patient_reader, acme)
    older = patient_reader.pages("older")
    ids, cursor = page(patient_reader, acme, cursor, "limit=10")
    assert patient_reader.pages("older") == older + 1
    patient_reader.replica.resume()
    patient_reader.replica.catch_up()
    before = patient_reader.pages()
    rest, end = page(patient_reader, acme, cursor, "limit=100")
    assert patient_reader.pages() == before + 1
    assert end is None
    everything = Document.objects.order_by("-created_at").values_list("id", flat=True)
    assert seen + ids + rest == [str(id) for id in everything]


def test_walk_that_began_without_a_replica_goes_on_at_the_primary(
    patient_reader: ReadingServer, acme: Tenant
) -> None:
    imported(acme, NEWEST_FIRST[::2])
    patient_reader.replica.catch_up()
    patient_reader.replica.pause()
    between = imported(acme, NEWEST_FIRST[1::2])
    cursor = acme.get("/documents?limit=1").json()["nextCursor"]  # this process has no replica
    ids, _ = page(patient_reader, acme, cursor)
    assert set(between) <= set(ids)


@pytest.mark.parametrize("query", ["limit=2", "status=SENT&limit=2"])
def test_walk_that_changes_the_server_shows_each_document_of_its_beginning_once(
    patient_reader: ReadingServer, acme: Tenant, query: str
) -> None:
    """While documents are imported, deleted, and change their status."""
    server = patient_reader
    stood = imported(acme, NEWEST_FIRST[::2])
    server.replica.catch_up()
    gone: set[str] = set()
    reads = server.pages()

    def change(number: int, coming: list[str]) -> None:
        imported(acme, [NEWEST_FIRST[-1 - number]])
        if len(coming) > 2:
            gone.update(coming[1:3])
            Document.objects.filter(pk=coming[1]).update(deleted_at=NEWEST_FIRST[0])
            Document.objects.filter(pk=coming[2]).update(status="CANCELLED")

    def nothing() -> None:
        pass

    def leave() -> None:
        server.link.refuse()
        assert server.leaves_replica()

    def come_back() -> None:
        server.link.restore()
        uses_replica_again(server, acme)

    steps: list[Callable[[], None]] = [
        server.replica.pause,
        nothing,
        leave,
        come_back,
        server.replica.resume,
        leave,
        server.replica.pause,
        come_back,
    ]
    seen, cursor = page(server, acme, query=query)
    for number in count():
        forget_requests()  # the walk takes less than a minute
        change(number, [id for id in stood if id not in seen])
        steps[number % len(steps)]()
        if cursor is None:
            break
        ids, cursor = page(server, acme, cursor, query)
        seen += ids
    assert len(seen) == len(set(seen))
    assert set(stood) - set(seen) <= gone
    assert [id for id in seen if id in stood] == [id for id in stood if id in seen]
    assert server.pages() > reads


def test_list_that_has_not_changed_is_a_304_although_its_cursor_has(
    patient_reader: ReadingServer, acme: Tenant, umbrella: Tenant
) -> None:
    imported(acme, NEWEST_FIRST)
    patient_reader.replica.catch_up()
    first = patient_reader.get("/documents?limit=2", acme.raw)
    factories.document(umbrella.workspace)
    patient_reader.replica.catch_up()
    etag = first.headers["etag"]
    assert patient_reader.get("/documents?limit=2", acme.raw).body != first.body
    again = patient_reader.get("/documents?limit=2", acme.raw, if_none_match=etag)
    assert (again.status, again.headers["etag"]) == (304, etag)
    assert etag.startswith("W/")  # two bodies have it
    assert patient_reader.get("/documents?limit=2", acme.raw, if_match=etag).status == 412
    imported(acme, NEWEST_FIRST[:1])
    patient_reader.replica.catch_up()
    assert patient_reader.get("/documents?limit=2", acme.raw, if_none_match=etag).status == 200
