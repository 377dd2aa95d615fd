"""The queue of deliveries: what is due, in which order, and the schedule of attempts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.connections import processes
from documents.models import Document
from events import purge
from events.models import Event
from events.webhooks import monitoring, queue, secrets, services
from events.webhooks.models import Attempt, Delivery, DeliveryState, Endpoint
from events.webhooks.policy import AT_ONCE, ATTEMPT_SECONDS, DELAYS, next_delay
from tests.support import factories
from tests.support.cast import nodes
from tests.support.database import execute, url_of
from tests.support.factories import Tenant
from tests.support.receiver import endpoint
from tests.support.server import eventually
from tests.support.webhooks import backlog, delivering
from workspaces.api_access import access_warning
from workspaces.models import Workspace
from workspaces.plans import Plan

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://hooks.example.com/"
PENDING, DELIVERED, FAILED = DeliveryState.values


def claim(most: int = 100) -> list[Delivery]:
    return sorted(queue.claim(most), key=lambda each: each.pk)


def ended(delivery: Delivery, status: int | None, **fields: Any) -> Attempt:
    facts = {"started_at": datetime.now(UTC), "milliseconds": 12, "status": status}
    return Attempt(delivery=delivery, **facts, **fields)


def end(claims: list[Delivery], status: int | None = 200, **fields: Any) -> None:
    fields.setdefault("error", "" if status else "The connection failed.")
    queue.save([ended(each, status, **fields) for each in claims])


def waiting(tenant: Tenant, count: int = 1, **fields: Any) -> Endpoint:
    made, _ = endpoint(tenant, URL, **fields)
    factories.listed(tenant.workspace, count)
    return made


def due_now() -> None:
    Delivery.objects.filter(state=PENDING).update(next_attempt_at=timezone.now())


def test_ten_are_claimed_for_an_endpoint_until_their_attempts_or_claims_end(acme: Tenant) -> None:
    waiting(acme, 30)
    first = claim()
    assert len(first) == AT_ONCE == 10
    longest = timezone.now() + timedelta(seconds=ATTEMPT_SECONDS)
    assert all(each.claimed_until and each.claimed_until > longest for each in first)
    assert claim() == []
    end(first[:4])
    assert len(claim()) == 4
    Delivery.objects.filter(pk=first[4].pk).update(claimed_until=timezone.now())
    assert claim() == [first[4]]


def test_oldest_come_first_and_each_endpoint_has_its_turn(acme: Tenant, umbrella: Tenant) -> None:
    ours, _ = endpoint(acme, URL)
    theirs, _ = endpoint(umbrella, URL)
    many = factories.listed(acme.workspace, 50)
    factories.listed(umbrella.workspace, 1)
    claims = claim(3)
    assert {each.endpoint_id for each in claims} == {ours.pk, theirs.pk}
    mine = {each.document_id for each in claims if each.endpoint_id == ours.pk}
    assert mine == {document.id for document in many[:2]}


def test_endpoint_that_fails_has_one_attempt_at_once_and_comes_last(
    acme: Tenant, umbrella: Tenant
) -> None:
    failing, _ = endpoint(acme, URL, failing_since=timezone.now())
    works, _ = endpoint(umbrella, URL)
    factories.listed(acme.workspace, 20)
    factories.listed(umbrella.workspace, 5)
    for most, expected in ((5, [works.pk] * 5), (100, [failing.pk]), (100, [])):
        assert [each.endpoint_id for each in claim(most)] == expected


def test_first_attempts_for_a_document_are_in_the_order_of_its_events(acme: Tenant) -> None:
    endpoint(acme, URL, "document.created", "document.sent", "document.viewed")
    [document] = factories.listed(acme.workspace, 1)
    Document.objects.update(status="VIEWED")
    [other] = factories.listed(acme.workspace, 1, status="DRAFT")
    claims = claim()
    assert {each.type for each in claims} == {"document.created"}
    assert [each.document_id for each in claims] == [document.id, other.id]
    end(claims, 500)
    [second] = claim()
    assert second.type == "document.sent"
    due_now()
    end([second], 500)
    end(claim(), 500)
    due_now()
    Endpoint.objects.update(failing_since=None)  # otherwise one at a time
    assert {each.type for each in claim()} >= {"document.created", "document.viewed"}


def test_deliveries_wait_while_the_workspace_may_not_use_the_api_or_the_endpoint_is_off(
    acme: Tenant,
) -> None:
    waiting(acme)
    for plan in (*Plan.values, "RETIRED"):
        for suspended in (False, True):
            Workspace.objects.update(plan=plan, suspended=suspended)
            claims = claim()
            assert bool(claims) == (access_warning(Workspace.objects.get()) == "")
            Workspace.objects.update(plan=Plan.PRO, suspended=False)
            assert bool(claim()) != bool(claims)
            Delivery.objects.update(claimed_until=None, claim=None)
    for field, value, back in (("enabled", False, True), ("deleted_at", timezone.now(), None)):
        Endpoint.objects.update(**{field: value})
        assert claim() == []
        Endpoint.objects.update(**{field: back})
    assert len(claim()) == 1


def test_delivery_has_ten_attempts_after_longer_and_longer_delays(acme: Tenant) -> None:
    hours = (2, 5, 10, 14, 20, 24)
    assert (0, 5, 5 * 60, 30 * 60, *(each * 3600 for each in hours)) == DELAYS
    waiting(acme)
    for number, delay in enumerate([*DELAYS[1:], None], 1):
        [claimed] = claim()
        before = timezone.now()
        end([claimed], 500)
        delivery = Delivery.objects.get()
        assert (delivery.attempts, delivery.claimed_until) == (number, None)
        if delay is None:
            assert (delivery.state, delivery.next_attempt_at) == (FAILED, None)
            break
        assert claim() == []
        assert delivery.next_attempt_at is not None
        wait = delivery.next_attempt_at - before
        assert timedelta(seconds=0.9 * delay) <= wait <= timedelta(seconds=1.1 * delay + 5)
        due_now()
    numbers = list(Attempt.objects.order_by("id").values_list("number", flat=True))
    assert numbers == list(range(1, 11))


def test_retries_do_not_arrive_together_and_wait_as_long_as_they_are_asked_to() -> None:
    assert next_delay(10, 60) is None
    assert len({next_delay(1, 0) for _ in range(10)}) == 10
    for asked, seconds in ((2, 5), (60, 60), (10**9, 3600)):  # by Retry-After, up to an hour
        assert next_delay(1, asked) == pytest.approx(seconds, rel=0.1)


def failing_for(days: float) -> None:
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(days=days))


@pytest.mark.parametrize(
    ("days", "status", "reason"),
    [
        (4.9, 500, ""),
        (5.1, 500, "no attempt has succeeded for 5 days"),
        (0.0, 410, "it responded with 410 Gone"),
    ],
)
def test_endpoint_is_switched_off_after_five_days_without_success_or_by_410(
    acme: Tenant, days: float, status: int, reason: str
) -> None:
    waiting(acme)
    failing_for(days)
    Delivery.objects.update(attempts=1, failures=1)
    end(claim(), status)
    found = Endpoint.objects.get()
    assert (found.enabled, found.disabled_reason) == (reason == "", reason)


def test_what_has_failed_is_due_once_the_url_is_another_or_the_endpoint_is_on_again(
    acme: Tenant,
) -> None:
    made = waiting(acme)
    values: Any = {"url": f"{URL}new", "label": "", "types": made.types, "by": acme.admin}

    def change() -> None:
        services.change(made, **values)

    def switch() -> None:
        services.switch_off(made, by=acme.admin)
        services.switch_on(made, by=acme.admin)

    due = claim()
    for start_again in (change, switch):
        end(due, 500)
        assert claim() == []
        start_again()
        due = claim()
        assert len(due) == 1
    end(due, 500)
    change()  # to what it is already
    assert claim() == []


def test_endpoint_fails_until_an_attempt_succeeds_or_all_that_failed_is_given_up(
    acme: Tenant, umbrella: Tenant
) -> None:
    made = waiting(acme)
    theirs, _ = endpoint(umbrella, URL, failing_since=timezone.now())

    def since() -> datetime | None:
        made.refresh_from_db()
        return made.failing_since

    end(claim(), None)
    first = since()
    assert first is not None
    due_now()
    end(claim(), 500)
    assert since() == first
    due_now()
    end(claim())
    assert since() is None
    factories.listed(acme.workspace, 1)
    end(claim(), 500)
    failing_for(5.1)
    Delivery.objects.update(failures=len(DELAYS) - 1)
    due_now()
    last = claim()
    factories.listed(acme.workspace, 1)  # it has not failed yet
    end(last, 500)
    assert (since(), made.enabled) == (None, True)
    end(claim(), 500)
    failing_for(5.1)
    factories.listed(acme.workspace, 1)
    end(claim(), 500)  # the first attempt of another one, while the one before is still tried
    assert since() is not None
    assert not made.enabled
    theirs.refresh_from_db()
    assert theirs.failing_since is not None  # no result is about it


def test_delivery_of_an_endpoint_that_was_deleted_just_now_is_not_attempted(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.delete(waiting(acme), by=acme.admin)
    before = queue.CLAIM.replace("AND endpoint.deleted_at IS NULL", "")
    monkeypatch.setattr(queue, "CLAIM", before)  # as if it was deleted right after the statement
    assert claim() == []


def test_result_counts_once_and_only_for_the_process_that_has_the_claim(acme: Tenant) -> None:
    waiting(acme)
    late = claim()
    Delivery.objects.update(claimed_until=timezone.now())
    other = claim()
    assert other == late
    for _ in range(2):  # as after a commit whose response was lost
        end(late)
        end(other, 500)
    found = Delivery.objects.get()
    assert (found.state, found.claim, found.attempts) == (PENDING, None, 1)
    assert Attempt.objects.count() == 1
    Delivery.objects.all().delete()
    end(other)  # of a delivery that was deleted
    assert not Attempt.objects.exists()


def test_result_that_cannot_be_saved_does_not_stop_the_others(
    acme: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    waiting(acme, 3)
    bad, *others = claim()
    queue.save([ended(bad, 200, response="\0"), *(ended(each, 200) for each in others)])
    states = Delivery.objects.order_by("id").values_list("state", flat=True)
    assert list(states) == [PENDING, DELIVERED, DELIVERED]
    assert caplog.messages == [f"The result of delivery {bad.pk} is lost"]


def test_delivery_whose_result_is_just_being_saved_is_not_claimed(acme: Tenant) -> None:
    waiting(acme, 2)
    first, second = claim()
    Delivery.objects.update(claimed_until=timezone.now())
    with psycopg.connect(url_of(str(connection.settings_dict["NAME"]))) as late:
        values = queue._values(ended(first, 200)) | {"id": first.pk}
        late.execute(queue.SAVE, values)
        assert claim() == [second]
    assert claim() == []


def test_send_again_gives_a_whole_schedule_with_the_same_id(acme: Tenant) -> None:
    made = waiting(acme, 3)
    claims = claim()
    end(claims[:1])
    Delivery.objects.filter(pk=claims[1].pk).update(failures=len(DELAYS) - 1)
    claims[1].failures = len(DELAYS) - 1
    end([claims[1]], 500)
    states = Delivery.objects.order_by("id").values_list("state", flat=True)
    assert list(states) == [DELIVERED, FAILED, PENDING]
    for each in made.deliveries.all():
        services.send_again(made, only=each, by=acme.admin)  # the third one is being attempted
    assert set(Delivery.objects.values_list("state", "failures")) == {(PENDING, 0)}
    assert Delivery.objects.filter(claim=None).count() == 2
    Endpoint.objects.update(failing_since=None)  # otherwise one at a time
    again = claim()
    end(again)
    assert {each.event_id for each in again} == {each.event_id for each in claims[:2]}
    assert sorted(Attempt.objects.values_list("number", flat=True)) == [1, 1, 2, 2]


def test_test_event_that_fails_has_one_attempt_and_is_no_failure_of_the_endpoint(
    acme: Tenant,
) -> None:
    made, _ = endpoint(acme, URL)
    for _ in range(2):
        services.send_test_event(made, by=acme.admin)
    claims = claim()
    assert [each.type for each in claims] == ["webhook.test"] * 2
    assert claims[0].event_id != claims[1].event_id
    end(claims, 500)
    for delivery in Delivery.objects.all():
        assert (delivery.state, delivery.attempts, delivery.next_attempt_at) == (FAILED, 1, None)
    assert Endpoint.objects.get().failing_since is None


# --- What operators see ------------------------------------------------------------------------


def test_status_says_what_is_late_and_whether_a_process_delivers(acme: Tenant) -> None:
    waiting(acme, 3)
    with delivering():
        found = {each.name: each.samples[0].value for each in monitoring.read_metrics()}
        assert processes(monitoring.PROCESS) == 1
    assert 0 < found["documents_webhooks_overdue_seconds"] < 60
    assert 0 <= found["documents_events_held_seconds"] < 60
    assert eventually(lambda: processes(monitoring.PROCESS) == 0)
    Delivery.objects.update(next_attempt_at=timezone.now() - timedelta(minutes=5))
    assert 300 <= monitoring.read_status().overdue < 310
    [said] = monitoring.webhooks(databases=["default"])
    due = "The oldest delivery that is due has waited for 5\xa0minutes."
    assert said.msg == f"No process delivers them. {due}"
    Endpoint.objects.update(failing_since=timezone.now())  # its deliveries wait for their turn
    assert monitoring.read_status().overdue == 0


# --- Deleting what is old, new keys ------------------------------------------------------------


def test_deliveries_are_deleted_after_30_days_and_events_after_32(
    acme: Tenant, as_owner: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "BATCH", 2)
    waiting(acme, 4)
    end(claim())
    now = timezone.now()
    for number, delivery in enumerate(Delivery.objects.order_by("id")):
        created = now - timedelta(days=30.5 if number < 2 else 29.5)
        Delivery.objects.filter(pk=delivery.pk).update(created_at=created)
    for number, event in enumerate(Event.objects.order_by("id")):
        occurred = now - timedelta(days=32.5 if number < 3 else 31.5)
        Event.objects.filter(pk=event.pk).update(occurred_at=occurred)
    assert [purge.purge() for _ in range(2)] == [True, False]
    assert Delivery.objects.count() == Attempt.objects.count() == 2
    assert Event.objects.count() == 8 - 3


def test_secrets_are_encrypted_again_so_that_a_fallback_can_be_removed(
    acme: Tenant, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    made, raw = endpoint(acme, URL, previous_secret=secrets.encrypt("whsec_previous"))
    assert raw.removeprefix("whsec_")[:20] not in made.secret
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next key", [settings.SECRET_KEY]
    assert secrets.decrypt(made.secret) == raw
    secrets.encrypt_again()
    made.refresh_from_db()
    settings.SECRET_KEY_FALLBACKS = []
    assert secrets.decrypt(made.secret) == raw
    assert secrets.decrypt(made.previous_secret) == "whsec_previous"
    assert "No key" not in caplog.text
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "unknown", ["unknown too"]
    secrets.encrypt_again()
    assert caplog.text.count("No key decrypts the secret of endpoint") == 1


@pytest.mark.slow
@pytest.mark.parametrize("analysed", ["empty", "pending", "never"])
def test_claim_reads_along_the_indexes_however_many_wait(
    acme: Tenant, umbrella: Tenant, as_owner: None, analysed: str
) -> None:
    """However old the planner's statistics are; PostgreSQL compiles nothing for it."""
    if analysed == "empty":
        execute("ANALYZE webhooks_delivery")
    for _ in range(20):
        endpoint(acme, URL)
    backlog(1000)
    if analysed == "pending":
        execute("ANALYZE webhooks_delivery")
    first, *_, last = Endpoint.objects.order_by("pk")
    Delivery.objects.exclude(endpoint__in=(first, last)).update(
        state=DELIVERED, next_attempt_at=None
    )
    Delivery.objects.filter(endpoint=first, sequence__lt=975).update(
        next_attempt_at=timezone.now() + timedelta(days=1)
    )
    endpoint(umbrella, URL)
    factories.listed(umbrella.workspace, 500)
    queue.claim(1)  # the first to see them marks the entries of old row versions as dead
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {queue.CLAIM}", [100])
        [[[plan]]] = cursor.fetchall()
    scans = [
        node
        for node in nodes(plan["Plan"])
        if node.get("Relation Name") == "webhooks_delivery" and node["Node Type"] != "ModifyTable"
    ]
    assert "Seq Scan" not in {scan["Node Type"] for scan in scans}
    pages = [scan["Shared Hit Blocks"] + scan["Shared Read Blocks"] for scan in scans]
    # Of four times as many deliveries, about 32,000 if an old snapshot keeps dead entries from
    # being marked; a plan that reads all deliveries for each endpoint is over 140,000.
    assert max(pages) < 15_000
