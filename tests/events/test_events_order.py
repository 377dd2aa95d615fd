"""The feed of events while others write: nothing skipped, nothing twice, nothing early."""

import random
import threading
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from audit.models import AuditEntry
from documents.models import Document
from events.models import Event, public_id
from tests.events.test_events import feed, request, settled
from tests.support import factories
from tests.support.client import forget_requests
from tests.support.factories import Tenant
from tests.support.server import eventually

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 4
TURNS = 25
STATUSES = ("SENT", "VIEWED", "PARTIALLY_SIGNED", "DECLINED", "EXPIRED", "CANCELLED")


def in_thread(work: Any, *arguments: Any) -> threading.Thread:
    """Runs it in a thread with a database connection of its own."""

    def run() -> None:
        try:
            work(*arguments)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def change(status: str, *ids: Any) -> None:
    Document.objects.filter(pk__in=ids).update(status=status)


def test_events_of_concurrent_writers_are_each_shown_once_and_in_order(acme: Tenant) -> None:
    ids = [document.pk for document in factories.listed(acme.workspace, 5, status="DRAFT")]

    def write(seed: int) -> None:
        """Transactions of different length; some are undone. One changes few documents."""
        draw = random.Random(seed)  # noqa: S311
        for _ in range(TURNS):
            with transaction.atomic():
                for id in sorted(draw.sample(ids, draw.randint(1, 3))):
                    change(draw.choice(STATUSES), id)
                    threading.Event().wait(draw.random() * 0.01)
                transaction.set_rollback(draw.random() < 0.2)

    writers = [in_thread(write, seed) for seed in range(WRITERS)]
    seen: list[dict[str, Any]] = []
    after = None
    while True:
        ended = not any(writer.is_alive() for writer in writers) and settled()
        forget_requests()
        page = request(acme, after, limit=str(random.Random(len(seen)).randint(1, 20)))  # noqa: S311
        seen += page["data"]
        after = page["nextCursor"]
        if ended and not page["data"]:
            break
    assert len(seen) > WRITERS * TURNS
    ids_seen = sorted(event["id"] for event in seen)
    assert ids_seen == sorted(public_id(event.uuid) for event in Event.objects.all())
    for id in ids:
        statuses = [event["data"]["status"] for event in seen if event["data"]["id"] == str(id)]
        # The ids are drawn while the document is locked, so they have its true order.
        expected = Event.objects.filter(document_id=id).order_by("id")
        assert statuses == list(expected.values_list("status", flat=True))


def test_events_of_a_transaction_that_began_first_and_ends_last_are_not_skipped(
    acme: Tenant,
) -> None:
    first, second = (d.pk for d in factories.listed(acme.workspace, 2, status="DRAFT"))
    assert eventually(settled)
    after = request(acme, after="now")["nextCursor"]
    with transaction.atomic():
        change("SENT", first)
        in_thread(change, "SENT", second).join()
        shown: list[Any] = []
        in_thread(lambda: shown.append(request(acme, after)["data"])).join()
        assert shown == [[]]  # the one that is committed waits for the one that is not
    assert [id for _, id in feed(acme, after)] == [str(first), str(second)]


def test_events_of_one_document_stay_in_order_when_numbers_of_transactions_do_not(
    acme: Tenant,
) -> None:
    other, document = (d.pk for d in factories.listed(acme.workspace, 2, status="DRAFT"))
    assert eventually(settled)
    after = request(acme, after="now")["nextCursor"]
    with transaction.atomic():
        change("SENT", other)  # it has its number now
        in_thread(change, "SENT", document).join()
        change("VIEWED", document)
    shown = [type for type, id in feed(acme, after) if id == str(document)]
    assert shown == ["document.sent", "document.viewed"]


@pytest.mark.usefixtures("as_owner")
def test_events_after_a_restore_start_anew(acme: Tenant, capsys: Any) -> None:
    factories.listed(acme.workspace, 3)
    before = feed(acme)
    cursor = request(acme, after="now")["nextCursor"]
    call_command("restart_events")
    assert "starts anew" in capsys.readouterr().out
    assert AuditEntry.objects.get(action="command.run").detail == "The feed of events starts anew"
    assert acme.get(f"/events?after={cursor}").status == 410
    assert feed(acme) == before
    [new] = factories.listed(acme.workspace, 1, status="DRAFT")
    assert feed(acme)[-1] == ("document.created", str(new.pk))
