"""The usage of keys: counted in the process, written every few seconds, read by pages."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone
from django.utils.timezone import localdate

from apikeys.usage import purge, report
from apikeys.usage.middleware import BUFFER
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.api.active_key import ActiveKey
from config.request.context import Notes
from tests.support import factories
from tests.support.cast import spend
from tests.support.client import get
from tests.support.database import executed, locked, waiting_for_lock
from tests.support.factories import Tenant, uid
from tests.support.server import end_connections, eventually
from tests.support.usage import Usage, numbers, usage_of, used

ADDRESS = "127.0.0.1"  # of requests in process


def count(number: int = 1, at: datetime | None = None, client: str = "late/1") -> datetime:
    """Counts a request of the key with the id `uid(number, 2)`; returns when it was."""
    at = at or timezone.now()
    key = ActiveKey(uid(number, 2), "Sync", "dtd_12345678", uid(1, 1), "Acme", "PRO", False)
    BUFFER.count(key, at, Notes("", ADDRESS, client), ok=True, file=False)
    return at


def test_usage_counts_successful_requests_by_hour(flusher: ModuleType) -> None:
    for hour in (9, 9, 23):
        count(at=factories.at(f"2026-03-01 {hour:02}:30:00"))
        flusher.flush()
    hours = KeyUsage.objects.get().hours
    assert {hour: number for hour, number in enumerate(hours) if number} == {9: 2, 23: 1}


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
    assert (row.workspace_id, row.day, sum(row.hours)) == (acme.workspace.id, localdate(), 2)
    assert KeyUsage.objects.count() == 3  # none without a key
    passed = 2
    while acme.get("/documents").status != 429:
        passed += 1
        spend(acme)
    flusher.flush()
    assert usage_of(acme.key.pk) == Usage(ok=passed, errors=3, limited=1)
    assert KeyUsage.objects.get(key_id=acme.key.pk).busiest > 300


def test_usage_counts_downloads_that_started(acme: Tenant, flusher: ModuleType) -> None:
    path = f"/documents/{factories.document(acme.workspace).id}/download"
    etag = acme.get(path).headers["etag"]
    acme.get(path, Range="bytes=0-9")
    acme.get(path, "HEAD")
    assert acme.get(path, If_None_Match=etag).status == 304
    assert acme.get(path, Range="bytes=99999999-").status == 416
    flusher.flush()
    assert usage_of(acme.key.pk) == Usage(ok=4, errors=1, downloads=2)


def test_usage_of_many_keys_adds_up_by_day(flusher: ModuleType) -> None:
    yesterday = timezone.now() - timedelta(days=1)
    for flushed in (1, 2):
        for number in range(100):
            count(number, yesterday)
            count(number, yesterday)
            count(number)
        flusher.flush()
        assert set(KeyUsage.objects.values_list("day", "ok")) == {
            (yesterday.date(), 2 * flushed),
            (localdate(), flushed),
        }
    assert KeyUsage.objects.count() == 200
    with executed() as statements:
        flusher.flush()
    assert not statements  # there was nothing to write


def test_usage_waits_for_the_database_and_what_it_refuses_is_lost(
    flusher: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fetch, failures = flusher.fetch, [OperationalError("gone"), OperationalError("gone")]

    def fail(*args: Any) -> Any:
        if failures:
            raise failures.pop()
        return fetch(*args)

    monkeypatch.setattr(flusher, "fetch", fail)
    for _ in range(3):
        count()
        flusher.flush()
    flusher.flush()
    assert KeyUsage.objects.get().ok == 3
    monkeypatch.setattr(flusher, "write", lambda *batch: batch.nothing)
    count()
    flusher.flush()
    flusher.flush()
    assert [each.getMessage() for each in caplog.records] == [
        *["The usage of keys is not written: gone"] * 2,
        "The usage of keys is lost",
    ]
    assert KeyUsage.objects.get().ok == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", [lambda: None, end_connections])
def test_what_could_not_be_written_is_written_once_later(
    flusher: ModuleType, caplog: pytest.LogCaptureFixture, end: Callable[[], Any]
) -> None:
    """The lock times out, or the connection is cut off."""
    assert eventually(lambda: timezone.now().second < 50)  # all in one minute
    unknown, flush = f"Bearer dtd_{'Z' * 40}", threading.Thread(target=flusher.flush)
    count()
    get("/api/v1/me", unknown)
    with locked("usage_keyusage"):
        flush.start()
        assert eventually(waiting_for_lock)
        count()
        get("/api/v1/me", unknown)
        end()
        flush.join()
    assert [each.levelname for each in caplog.records] == ["WARNING"]
    flusher.flush()
    flusher.flush()
    assert KeyUsage.objects.get().ok == 2
    row = RefusedRequest.objects.get()
    assert (row.requests, len(row.request_ids)) == (2, 2)
    assert row.reason == "No key of this service begins with what was sent: nobody was let in."


def test_last_use_has_its_time_address_and_client_without_secrets(
    acme: Tenant, flusher: ModuleType
) -> None:
    def last_used() -> datetime | None:
        flusher.flush()
        acme.key.refresh_from_db()
        return acme.key.last_used_at

    assert last_used() is None
    acme.get("/documents/nothing", user_agent="curl/8")
    acme.get("/me", user_agent=f"sync/2 {acme.raw} {'x' * 600}")
    first = last_used()
    assert first is not None
    assert timedelta() <= timezone.now() - first < timedelta(seconds=9)
    found = KeyUsage.objects.get()
    assert (found.address, found.last_at) == (ADDRESS, first)
    assert found.user_agent.startswith(f"sync/2 {acme.key.prefix}… xxx")
    assert len(found.user_agent) <= 500
    for minutes in (-1, 0.9):  # one process was late; it is written at most once a minute
        count(1, first + timedelta(minutes=minutes))
        assert last_used() == first
    assert last_used() != count(1, first + timedelta(minutes=1.1))
    assert last_used() == first + timedelta(minutes=1.1)


def test_report_has_where_a_key_was_used_last_each_day(db: None) -> None:
    for days_ago, address in enumerate(["192.0.2.7", "192.0.2.8", "192.0.2.7", "192.0.2.9"]):
        used(uid(1, 2), uid(1, 1), days_ago, address=address, user_agent="sync/2")
    used(uid(2, 2), uid(1, 1), address="198.51.100.1")
    found = [(row.address, (localdate() - row.day).days) for row in report.addresses(uid(1, 2))]
    assert found == [("192.0.2.7", 0), ("192.0.2.8", 1), ("192.0.2.9", 3)]


def test_report_has_the_last_30_days_of_each_key_and_of_all(db: None) -> None:
    used(uid(1, 2), uid(1, 1), 0, ok=3, downloads=1, busiest=7)
    used(uid(1, 2), uid(1, 1), 2, errors=2, limited=1)
    used(uid(1, 2), uid(1, 1), 30, ok=9)  # too long ago
    used(uid(2, 2), uid(1, 1), 0, ok=1, busiest=6)
    found = report.by_day(KeyUsage.objects.filter(key_id=uid(1, 2)), "key_id")
    assert {each.day: numbers(each) for each in found} == {
        localdate(): Usage(ok=3, downloads=1),
        localdate() - timedelta(days=2): Usage(errors=2, limited=1),
    }
    assert usage_of(uid(3, 2)) == Usage()
    of_all = report.by_day(KeyUsage.objects.all())
    assert {each.day: numbers(each) for each in of_all} == {
        localdate(): Usage(ok=4, downloads=1),
        localdate() - timedelta(days=2): Usage(errors=2, limited=1),
    }
    total = report.total(of_all)
    assert numbers(total) == Usage(ok=4, errors=2, limited=1, downloads=1)
    assert (total.requests, total.refused, total.busiest) == (7, 3, 7)


def test_purge_deletes_old_rows_some_at_a_time(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "ROWS", 2)
    for back in (399, 400, 401, 402, 403):
        used(uid(1, 2), uid(1, 1), back, ok=1)
    assert purge.purge()
    assert KeyUsage.objects.count() == 3
    assert not purge.purge()
    assert KeyUsage.objects.count() == 2


def test_an_error_while_counting_fails_no_request(
    acme: Tenant, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(BUFFER, "count", fail)
    assert acme.get("/me").status == 200
