"""GET /api/v1/events: what happened to the workspace's documents, oldest first, nothing twice."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from django.core.signing import Signer
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from config.api.cursors import decode_cursor, encode_cursor
from config.api.errors import CursorExpired
from documents.models import Document, DocumentStatus
from events import feed as feeds
from events import purge
from events.models import KEEP_DAYS, Event, EventType, public_id
from tests.support import factories
from tests.support.cast import feed, feed_page, settled
from tests.support.client import get
from tests.support.factories import Tenant, uid
from tests.support.server import eventually
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)  # the feed shows what is committed

AFTER_EXPECTED = "the nextCursor of an earlier response, or 'now'"
STATUSES = [status for status in DocumentStatus.values if status != "DRAFT"]


def test_event_has_the_shape_of_standard_webhooks(acme: Tenant) -> None:
    before = timezone.now()
    [document] = factories.listed(acme.workspace, 1, id=uid(1))
    assert eventually(settled)
    page = feed_page(acme)
    assert list(page) == ["data", "nextCursor"]
    [created, sent] = page["data"]
    links = ["link" in acme.get(f"/events?limit={limit}").headers for limit in (1, 2)]
    assert links == [True, False]
    event = Event.objects.get(type=EventType.CREATED)
    assert created == {
        "id": f"evt_{event.uuid.hex}",
        "type": "document.created",
        "timestamp": event.occurred_at.isoformat().replace("+00:00", "Z"),
        "data": {"id": str(document.id), "status": "SENT"},
    }
    assert (sent["type"], sent["data"]) == ("document.sent", created["data"])
    assert before <= event.occurred_at <= timezone.now()
    assert created["id"] != sent["id"]


def test_event_of_each_status_and_of_deletion(acme: Tenant) -> None:
    document = factories.document(acme.workspace, "DRAFT")
    file = factories.stored(factories.pdf("sealed"))
    other = factories.stored(factories.pdf("certificate"))
    for document.status in STATUSES:
        if document.status == "COMPLETED":
            document.signed, document.certificate = file, other
            document.completed_at = timezone.now()
        document.save()
    document.title = "Another title"
    document.save()  # no event
    Document.objects.update(status="DRAFT")  # no event: there is no type for it
    Document.objects.update(deleted_at=timezone.now())
    Document.objects.update(status="SENT")  # no event: it is deleted
    names = ["created", *map(str.lower, STATUSES), "deleted"]
    assert [type for type, _ in feed(acme)] == [f"document.{name}" for name in names]
    with transaction.atomic():
        factories.listed(acme.workspace, 1)
        transaction.set_rollback(True)  # an event is undone with its change
    assert len(feed(acme)) == len(names)


def test_event_of_a_document_that_is_back_or_moves_or_whose_row_is_deleted(
    acme: Tenant, umbrella: Tenant
) -> None:
    [document] = factories.listed(acme.workspace, 1, deleted_at=timezone.now())
    created = [("document.created", str(document.id)), ("document.sent", str(document.id))]
    assert feed(acme) == []
    Document.objects.update(deleted_at=None)
    assert feed(acme) == created
    Document.objects.update(workspace=umbrella.workspace)
    assert feed(acme)[2:] == [("document.deleted", str(document.id))]
    assert feed(umbrella) == created
    Document.objects.all().delete()
    assert feed(umbrella)[2:] == [("document.deleted", str(document.id))]


@pytest.mark.usefixtures("as_owner")
def test_events_survive_the_workspace_that_is_deleted(acme: Tenant) -> None:
    factories.listed(acme.workspace, 3)
    Workspace.objects.all().delete()
    assert Event.objects.filter(type="document.deleted").count() == 3


@pytest.mark.parametrize("size", [7, 50])
def test_events_are_each_shown_once_and_in_order_over_pages(acme: Tenant, size: int) -> None:
    documents = [factories.listed(acme.workspace, 10) for _ in range(5)]
    ids = [str(document.id) for some in documents for document in some]
    found = feed(acme, limit=str(size))
    assert [id for type, id in found if type == "document.created"] == ids
    assert len(found) == len(set(found)) == 100


def test_events_of_one_type_and_those_to_come(acme: Tenant) -> None:
    factories.listed(acme.workspace, 5)
    factories.listed(acme.workspace, 5, status="CANCELLED")
    found = feed(acme, type="document.cancelled", limit="2")
    assert [type for type, _ in found] == ["document.cancelled"] * 5
    page = feed_page(acme, after="now")
    assert page["data"] == []
    assert "link" not in acme.get("/events?after=now").headers
    [new] = factories.listed(acme.workspace, 1, status="DRAFT")
    assert feed(acme, page["nextCursor"]) == [("document.created", str(new.id))]


def test_events_cursor_and_tag_stay_the_same_while_nothing_is_new(acme: Tenant) -> None:
    factories.listed(acme.workspace, 3)
    assert eventually(settled)
    after = feed_page(acme)["nextCursor"]
    first = acme.get(f"/events?after={quote(after)}")
    assert first.json() == {"data": [], "nextCursor": after}
    again = acme.get(f"/events?after={quote(after)}", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    end = feeds.end_of_feed(acme.workspace.id).next
    old = end._replace(time=end.time - timedelta(days=2))
    purpose = f"events:{acme.workspace.id}"
    after = feed_page(acme, encode_cursor(old, purpose))["nextCursor"]
    found = decode_cursor(after, feeds.FeedPosition, purpose, "after", feeds.EXPECTED)
    assert found.time >= end.time  # no old one, which would expire


@pytest.mark.parametrize(
    ("name", "expected", "values"),
    [
        ("after", AFTER_EXPECTED, ["", "then", "now&after=now", "%00", "%F0%9F%96%8B"]),
        ("type", f"one of {', '.join(EventType.values)}", ["", "document.signed"]),
        ("limit", "a whole number from 1 to 100", ["0", "101"]),
    ],
)
def test_events_refuse_other_parameters(
    acme: Tenant, name: str, expected: str, values: list[str]
) -> None:
    for value in values:
        response = acme.get(f"/events?{name}={value}")
        assert response.status == 400
        assert f"'{name}'" in response.error
        assert expected in response.error


def test_events_cursor_that_was_changed_or_is_of_another_workspace_or_list_is_400(
    acme: Tenant, umbrella: Tenant
) -> None:
    cursor = feed_page(acme)["nextCursor"]
    changed = ("B" if cursor[0] == "A" else "A") + cursor[1:]
    assert acme.get(f"/events?after={quote(changed)}").status == 400
    assert umbrella.get(f"/events?after={quote(cursor)}").status == 400
    assert acme.get(f"/events?after={quote(cursor)}").status == 200
    factories.listed(acme.workspace, 2)
    of_list = acme.get("/documents?limit=1").json()["nextCursor"]
    assert acme.get(f"/events?after={quote(of_list)}").status == 400
    assert acme.get(f"/documents?cursor={quote(cursor)}").status == 400


NOW = "2026-03-01T00:00:00Z"


@pytest.mark.parametrize(
    "value",
    [
        *("", None, [], {}, [NOW, str(UUID(int=1))]),  # the last one is of a list of documents
        *([1, 1, NOW[:-1], 1], [1, 1, 1, 1], [1, 1, NOW], [1, 1, NOW, "x"]),
        *([-1, 1, NOW, 1], [2**63, 1, NOW, 1], [1, 2**63, NOW, 1], [1, 1.5, NOW, 1]),
    ],
)
def test_events_cursor_with_a_valid_signature_and_no_position_is_400(
    acme: Tenant, value: Any
) -> None:
    cursor = Signer(salt=f"events:{acme.workspace.id}", sep=".").sign_object(value)
    assert acme.get(f"/events?after={quote(cursor)}").status == 400


def expired(tenant: Tenant, **change: Any) -> bool:
    """Whether the cursor of the end of the feed is refused after a change of its position."""
    end = feeds.end_of_feed(tenant.workspace.id).next._replace(**change)
    cursor = encode_cursor(end, f"events:{tenant.workspace.id}")
    response = tenant.get(f"/events?after={quote(cursor)}")
    assert response.status == 200 or "page through GET /api/v1/documents once" in response.error
    return {200: False, 410: True}[response.status]


def test_events_cursor_that_may_miss_events_is_410(acme: Tenant) -> None:
    now = timezone.now()
    assert not expired(acme)
    assert not expired(acme, time=now - timedelta(days=29, hours=23))
    assert expired(acme, time=now - timedelta(days=30, minutes=1))
    assert expired(acme, transaction=1 << 60)  # of a database that a copy has replaced
    assert expired(acme, generation=1)  # of another one than this


def store_events(tenant: Tenant, hours: list[int], types: list[str]) -> None:
    """Replaces all events: one of each of these ages, in their order."""
    Event.objects.all().delete()
    now = timezone.now()
    Event.objects.bulk_create(
        Event(
            transaction=number,
            uuid=uuid4(),
            workspace_id=tenant.workspace.id,
            type=types[number % len(types)],
            occurred_at=now - timedelta(hours=age),
            document_id=uid(1),
            status="SENT",
        )
        for number, age in enumerate(sorted(hours, reverse=True), start=1)
    )


DAY = 24  # hours
OLDEST = KEEP_DAYS * DAY


@pytest.mark.usefixtures("as_owner")
def test_events_of_a_busy_workspace_can_be_paged_through_from_the_beginning(acme: Tenant) -> None:
    store_events(acme, [OLDEST + DAY // 2] * 75 + [OLDEST - DAY - 1] * 30, ["document.sent"])
    first = acme.get("/events?limit=25")
    assert first.status == 200
    [link] = re.findall("<(.+)>; rel", first.headers["link"])
    assert get(link, acme.bearer).status == 200
    assert acme.get(f"/events?after={quote(first.json()['nextCursor'])}").status == 200
    assert len(feed(acme, limit="25")) == 30


def wait(hours: int) -> None:
    """So much time passes, and what is old is deleted."""
    Event.objects.update(occurred_at=F("occurred_at") - timedelta(hours=hours))
    assert not purge.purge()


@pytest.mark.slow
@pytest.mark.usefixtures("as_owner")
@hypothesis_settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    ages=st.lists(st.integers(OLDEST - 40, OLDEST + 70), min_size=30, max_size=60),
    types=st.lists(st.sampled_from(["document.sent", "document.viewed"]), min_size=1, max_size=3),
    wanted=st.sampled_from([("document.sent",), tuple(EventType.values)]),
    size=st.integers(1, 5),
    start=st.none() | st.integers(OLDEST - 30, OLDEST - 1),
    waits=st.lists(st.just(DAY - 1) | st.integers(0, DAY + 1), min_size=1, max_size=5),
)
def test_events_cursor_that_was_just_returned_works_for_a_day_and_misses_nothing(
    acme: Tenant,
    ages: list[int],
    types: list[str],
    wanted: tuple[str, ...],
    size: int,
    start: int | None,
    waits: list[int],
) -> None:
    """A reader begins without a cursor, or with one of the age `start`, and is slow."""
    store_events(acme, ages, types)
    stored = Event.objects.filter(type__in=wanted).order_by("id").values_list("transaction", "uuid")
    events = [(number, public_id(uuid)) for number, uuid in stored]
    begins = OLDEST - DAY if start is None else start
    number = len([age for age in ages if age >= begins])
    after = None
    if start is not None:
        end = feeds.end_of_feed(acme.workspace.id).next
        time = end.time - timedelta(hours=start)
        after = end._replace(transaction=number, id=1 << 60, time=time)
    promised = True
    for hours in [0, *waits]:
        wait(hours)
        if after:
            after = after._replace(time=after.time - timedelta(hours=hours))
        try:
            page = feeds.page(acme.workspace.id, wanted, after, size)
        except CursorExpired:
            assert not promised or hours >= DAY
            return
        following = [id for each, id in events if each > number]
        assert [event.id for event in page.events] == following[:size]
        number, after = page.next.transaction, page.next
        last = page.events[-1].timestamp if page.events else timezone.now()
        promised = last > timezone.now() - feeds.KEPT  # not if it was late before this page
