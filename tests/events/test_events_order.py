"""The feed of events while others write: nothing skipped, nothing twice, nothing early."""

import threading
from contextlib import ExitStack, closing
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from audit.models import AuditEntry
from documents.models import Document
from events import feed as feeds
from events.models import Event, public_id
from events.webhooks import services
from events.webhooks.models import Delivery
from tests.support import factories
from tests.support.cast import feed, feed_page, settled
from tests.support.database import url_of
from tests.support.factories import Tenant
from tests.support.server import eventually
from tests.support.webhooks import URL

pytestmark = pytest.mark.django_db(transaction=True)


def in_thread(work: Any, *arguments: Any) -> threading.Thread:
    def run() -> None:
        with closing(connection):
            work(*arguments)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def change(status: str, *ids: Any) -> None:
    Document.objects.filter(pk__in=ids).update(status=status)


def test_events_of_a_transaction_that_began_first_and_ends_last_are_not_skipped(
    acme: Tenant,
) -> None:
    first, second = (d.pk for d in factories.listed(acme.workspace, 2, status="DRAFT"))
    assert eventually(settled)
    after = feed_page(acme, after="now")["nextCursor"]
    with transaction.atomic():
        change("SENT", first)
        in_thread(change, "SENT", second).join()
        shown: list[Any] = []
        in_thread(lambda: shown.append(feed_page(acme, after)["data"])).join()
        assert shown == [[]]  # the one that is committed waits for the one that is not
    assert [id for _, id in feed(acme, after)] == [str(first), str(second)]


def test_events_of_one_document_stay_in_order_when_numbers_of_transactions_do_not(
    acme: Tenant,
) -> None:
    other, document = (d.pk for d in factories.listed(acme.workspace, 2, status="DRAFT"))
    assert eventually(settled)
    after = feed_page(acme, after="now")["nextCursor"]
    with transaction.atomic():
        change("SENT", other)  # it has its number now
        in_thread(change, "SENT", document).join()
        change("VIEWED", document)
    shown = [type for type, id in feed(acme, after) if id == str(document)]
    assert shown == ["document.sent", "document.viewed"]


TYPES = ["document.sent", "document.viewed"]
OTHER = "CASE status WHEN 'SENT' THEN 'VIEWED' ELSE 'SENT' END"


class Reader:
    """Walks through one workspace's feed: all of it, or what comes after `shown`."""

    def __init__(self, workspace: UUID, types: list[str], shown: set[str] | None) -> None:
        self.workspace, self.types, self.seen = workspace, types, list[str]()
        self.shown, self.committed, self.after = shown or set(), set[str](), None
        if shown is not None:
            self.committed = set(self.events())
            self.after = self.checked(feeds.end_of_feed(workspace))

    def events(self) -> list[str]:
        found = Event.objects.filter(workspace_id=self.workspace, type__in=self.types)
        return [public_id(each.uuid) for each in found.order_by("transaction", "id")]

    def checked(self, page: feeds.FeedPage) -> feeds.FeedPosition:
        """No transaction but one whose events were shown gives a position its number."""
        number, id = page.next[:2]
        assert number == id == 0 or Event.objects.filter(transaction=number, id=id).exists()
        return page.next

    def read(self, size: int) -> bool:
        page = feeds.page(self.workspace, self.types, self.after, size)
        self.after = self.checked(page)
        self.seen += [event.id for event in page.events]
        return bool(page.events)

    def check(self) -> None:
        """It has seen an end of the feed, with all that was not committed when it began."""
        events = self.events()
        assert self.seen == events[len(events) - len(self.seen) :]
        assert set(events) - self.committed <= set(self.seen)
        assert not self.shown & set(self.seen)


WRITER, READER = st.integers(0, 2), st.integers(0, 3)
STEPS = {
    "number": st.tuples(WRITER),  # a transaction takes its number before it writes
    "change": st.tuples(WRITER, st.integers(0, 3)),
    "end": st.tuples(WRITER, st.sampled_from(["COMMIT", "COMMIT", "ROLLBACK"])),
    "begin": st.tuples(st.integers(0, 1), st.sampled_from([TYPES, TYPES[:1]]), st.booleans()),
    "read": st.tuples(READER, st.integers(1, 3)),
}
STEP = st.sampled_from(list(STEPS)).flatmap(lambda name: st.tuples(st.just(name), STEPS[name]))


@pytest.mark.slow
@hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(first=st.permutations(range(3)), steps=st.lists(STEP, min_size=20, max_size=40))
def test_events_of_transactions_whose_numbers_and_ids_are_in_any_order_are_each_shown_once(
    acme: Tenant, umbrella: Tenant, first: list[int], steps: list[tuple[str, tuple[Any, ...]]]
) -> None:
    """There are none at first. Deliveries of webhooks are of the same events."""
    workspaces = [tenant.workspace for tenant in (acme, umbrella)]
    if not acme.workspace.endpoints.exists():
        services.create(workspace=acme.workspace, url=URL, types=TYPES, by=acme.admin)
    documents = [factories.listed(each, 1)[0].pk for each in workspaces * 2]
    Event.objects.all().delete()
    Delivery.objects.all().delete()
    readers = [Reader(each.pk, TYPES, None) for each in workspaces]
    url = url_of(str(connection.settings_dict["NAME"]), "DATABASE_URL")
    with ExitStack() as stack:
        writers = [stack.enter_context(psycopg.connect(url)) for _ in range(3)]
        locked: dict[int, int] = {}  # documents, with their writers
        numbers = [("number", (writer,)) for writer in first]
        for name, values in [*numbers, *steps]:
            match name, *values:
                case "number", writer:
                    writers[writer].execute("SELECT pg_current_xact_id()")
                case "change", writer, number if locked.setdefault(number, writer) == writer:
                    text = f"UPDATE documents_document SET status = {OTHER} WHERE id = %s"
                    writers[writer].execute(text.encode(), [documents[number]])
                case "end", writer, command:
                    writers[writer].execute(command.encode())
                    locked = {each: other for each, other in locked.items() if other != writer}
                case "begin", workspace, types, begins:
                    of = workspaces[workspace].pk
                    shown = {id for each in readers if each.workspace == of for id in each.seen}
                    readers.append(Reader(of, types, None if begins else shown))
                case "read", number, size:
                    readers[number % len(readers)].read(size)
    assert eventually(settled)
    for reader in readers:
        while reader.read(3):
            pass
        reader.check()
    for document in documents[::2]:
        deliveries = Delivery.objects.filter(document_id=document).order_by("sequence")
        events = Event.objects.filter(document_id=document).order_by("transaction", "id")
        of_events = list(events.values_list("uuid", flat=True))
        assert list(deliveries.values_list("event_id", flat=True)) == of_events


@pytest.mark.usefixtures("as_owner")
def test_events_after_a_restore_start_anew(acme: Tenant, capsys: Any) -> None:
    factories.listed(acme.workspace, 3)
    before = feed(acme)
    cursor = feed_page(acme, after="now")["nextCursor"]
    call_command("restart_events")
    assert "starts anew" in capsys.readouterr().out
    assert AuditEntry.objects.get(action="command.run").detail == "The feed of events starts anew"
    assert acme.get(f"/events?after={cursor}").status == 410
    assert feed(acme) == before
    [new] = factories.listed(acme.workspace, 1, status="DRAFT")
    assert feed(acme)[-1] == ("document.created", str(new.pk))
