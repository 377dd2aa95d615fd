"""The usage of keys: counted in the process, written every few seconds, read by pages."""

import threading
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apikeys.keys import today
from apikeys.models import ApiKey
from apikeys.usage import middleware, purge, report
from apikeys.usage.middleware import BUFFER
from apikeys.usage.models import KeyAddress, KeyUsage
from apikeys.usage.report import Usage
from config.api.active_key import ActiveKey
from tests.support import factories
from tests.support.cast import spend
from tests.support.client import get
from tests.support.database import url_of, waiting_for_lock
from tests.support.factories import Tenant, uid
from tests.support.server import eventually
from tests.support.usage import usage_of, used

ADDRESS = "127.0.0.1"  # of requests in process


def count(number: int = 1, status: int = 200, at: datetime | None = None, address: str = "") -> Any:
    """Counts a request of the key with the id `uid(number, 2)`; returns when it was."""
    at = at or timezone.now()
    key = ActiveKey(uid(number, 2), "Sync", "dtd_12345678", uid(1, 1), "Acme", "PRO", False)
    BUFFER.count(key, status, at, address, "late/1", False)
    return at


def addresses(number: int = 1) -> list[str]:
    rows = KeyAddress.objects.filter(key_id=uid(number, 2)).order_by("-last_seen")
    return list(rows.values_list("address", flat=True))


def test_usage_counts_each_response_of_a_key_by_its_status(
    acme: Tenant, freebie: Tenant, frozen: Tenant, flusher: ModuleType
) -> None:
    for path in ("/me", "/documents", "/documents/nothing", "/documents?limit=x"):
        acme.get(path)
    acme.get("/me", "POST")
    assert [freebie.get("/me").status, frozen.get("/me").status] == [402, 403]
    get("/api/v1/me", "Bearer dtd_wrong")
    get("/api/docs")
    flusher.flush()
    assert usage_of(acme.key.pk) == Usage(ok=2, errors=3)
    assert usage_of(freebie.key.pk) == usage_of(frozen.key.pk) == Usage(errors=1)
    row = KeyUsage.objects.get(key_id=acme.key.pk)
    assert (row.workspace_id, row.day) == (acme.workspace.id, today())
    assert KeyUsage.objects.count() == 3  # none without a key
    passed = 2
    while acme.get("/documents").status != 429:
        passed += 1
        spend(acme)
    flusher.flush()
    assert usage_of(acme.key.pk) == Usage(ok=passed, errors=3, limited=1)


def test_usage_counts_downloads_that_started(acme: Tenant, flusher: ModuleType) -> None:
    path = f"/documents/{factories.document(acme.workspace).id}/download"
    etag = acme.get(path).headers["etag"]
    acme.get(path, Range="bytes=0-9")
    acme.get(path, "HEAD")
    assert acme.get(path, If_None_Match=etag).status == 304
    assert acme.get(path, Range="bytes=99999999-").status == 416
    flusher.flush()
    assert usage_of(acme.key.pk) == Usage(ok=4, errors=1, downloads=2)


def test_usage_of_many_keys_is_written_in_one_statement(flusher: ModuleType) -> None:
    yesterday = timezone.now() - timedelta(days=1)
    for round_ in (1, 2):
        for number in range(100):
            count(number, 200, yesterday, "192.0.2.1")
            count(number, 200, yesterday, "192.0.2.2")
            count(number, 429)
        with CaptureQueriesContext(connection) as captured:
            flusher.flush()
        assert sum('"usage_keyusage"' in query["sql"] for query in captured) == 1
        counts = set(KeyUsage.objects.values_list("ok", "limited"))
        assert counts == {(2 * round_, 0), (0, round_)}
    assert KeyUsage.objects.count() == 200
    with CaptureQueriesContext(connection) as captured:
        assert flusher.flush()
    assert not captured  # there was nothing to write


def test_usage_waits_until_it_is_written_and_what_the_database_refuses_is_dropped(
    flusher: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write, failures = flusher.write, [OperationalError("gone"), OperationalError("gone")]

    def fail(batch: Any) -> None:
        if failures:
            raise failures.pop()
        write(batch)

    monkeypatch.setattr(flusher, "write", fail)
    for expected in (False, False, True, True):
        count()
        assert flusher.flush() is expected
    assert flusher.flush()
    assert KeyUsage.objects.get().ok == 4
    monkeypatch.setattr(flusher, "write", lambda batch: batch.nothing)
    count()
    assert flusher.flush()
    assert flusher.flush()
    assert [each.getMessage() for each in caplog.records if each.exc_info] == [
        "The usage of keys is lost"
    ]


def test_last_use_and_addresses_have_their_times_requests_and_client_without_secrets(
    acme: Tenant, flusher: ModuleType
) -> None:
    def last_used() -> datetime | None:
        assert flusher.flush()
        acme.key.refresh_from_db()
        return acme.key.last_used_at

    assert last_used() is None
    acme.get("/documents/nothing", user_agent="curl/8")
    acme.get("/me", user_agent=f"sync/2 {acme.raw} {'x' * 600}")
    first = last_used()
    assert first is not None
    assert timedelta() <= timezone.now() - first < timedelta(seconds=9)
    found = KeyAddress.objects.get()
    assert (found.address, found.requests, found.last_seen) == (ADDRESS, 2, first)
    assert found.user_agent.startswith(f"sync/2 {acme.key.prefix}… xxx")
    assert len(found.user_agent) <= 500
    for minutes in (-1, 0.9):  # one process was late; it is written at most once a minute
        count(1, 200, first + timedelta(minutes=minutes), ADDRESS)
        assert last_used() == first
    assert last_used() != count(1, 200, first + timedelta(minutes=1.1), ADDRESS)
    assert last_used() == first + timedelta(minutes=1.1)
    assert KeyAddress.objects.get().user_agent == "late/1"


@pytest.mark.django_db(transaction=True)
def test_last_use_of_many_keys_is_written_in_the_order_of_their_ids(
    acme: Tenant, flusher: ModuleType
) -> None:
    """Or else two processes could wait for each other."""
    for number in range(20, 1, -1):
        factories.issue(acme.workspace, f"Key {number}", acme.admin, uid(number, 2))
    with psycopg.connect(url_of(str(connection.settings_dict["NAME"]))) as other:
        lock = "SELECT FROM apikeys_apikey WHERE id = ANY (%s) FOR UPDATE NOWAIT"
        other.execute(lock, [[uid(2, 2)]])
        for number in range(1, 21):
            count(number)
        flush = threading.Thread(target=flusher.flush)
        flush.start()
        assert eventually(waiting_for_lock)
        other.execute(lock, [[uid(number, 2) for number in range(3, 21)]])
        other.rollback()
        flush.join()
    assert not ApiKey.objects.filter(last_used_at=None).exists()


def test_addresses_of_a_key_are_the_twenty_seen_last(flusher: ModuleType) -> None:
    now = timezone.now()
    count(2, 200, now - timedelta(hours=1), "198.51.100.1")
    for number in range(30):
        count(1, 200, now - timedelta(seconds=number), f"203.0.113.{number}")
        if number % 12 == 0:
            flusher.flush()
    flusher.flush()
    assert addresses() == [f"203.0.113.{number}" for number in range(20)]
    assert addresses(2) == ["198.51.100.1"]


def test_buffer_is_bounded_and_counts_all_requests(
    flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "USES", 3)
    for number in range(9):
        count(1, 200, None, f"203.0.113.{number}")
    assert len(BUFFER.batch.uses) == 4
    assert flusher.flush()
    assert KeyUsage.objects.get().ok == 9
    assert len(addresses()) == 3


def test_report_has_every_day_with_zeros(db: None) -> None:
    used(uid(1, 2), uid(1, 1), 0, ok=3, downloads=1)
    used(uid(1, 2), uid(1, 1), 2, errors=2, limited=1)
    used(uid(1, 2), uid(1, 1), 30, ok=9)  # too long ago
    used(uid(2, 2), uid(1, 1), 0, ok=1)
    found = report.daily(KeyUsage.objects.all(), "key_id")
    assert list(found[uid(1, 2)]) == [today() - timedelta(days=n) for n in reversed(range(30))]
    last = [Usage(errors=2, limited=1), Usage(), Usage(ok=3, downloads=1)]
    assert list(found[uid(1, 2)].values()) == [*[Usage()] * 27, *last]
    assert report.total(found[uid(3, 2)].values()) == Usage()
    days = report.daily(KeyUsage.objects.all(), "workspace_id")[uid(1, 1)]
    of_workspace = report.total(days.values())
    assert of_workspace == Usage(ok=4, errors=2, limited=1, downloads=1)
    assert (of_workspace.requests, of_workspace.refused) == (7, 3)
    assert report.summed(found.values()) == days


def test_purge_deletes_old_rows_some_at_a_time(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "ROWS", 2)
    for back in (399, 400, 401, 402, 403):
        used(uid(1, 2), uid(1, 1), back, ok=1)
    for days in (399, 401):
        seen = timezone.now() - timedelta(days=days)
        address = f"203.0.113.{days % 10}"
        KeyAddress.objects.create(key_id=uid(1, 2), address=address, last_seen=seen, requests=1)
    assert purge.purge()
    assert KeyUsage.objects.count() == 3
    assert not purge.purge()
    assert KeyUsage.objects.count() == 2
    assert addresses() == ["203.0.113.9"]


def test_an_error_while_counting_fails_no_request(
    acme: Tenant, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(BUFFER, "count", fail)
    assert acme.get("/me").status == 200
