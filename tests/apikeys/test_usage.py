"""The usage of keys: counted in the process, written every few seconds, read by pages."""

from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apikeys.states import today
from apikeys.usage import buffers, purge, report
from apikeys.usage.buffers import ADDRESSES, COUNTS, count
from apikeys.usage.models import KeyAddress, KeyUsage
from apikeys.usage.report import Day, Usage
from config.api.active_key import ActiveKey
from tests.apikeys.test_rate_limit import spend
from tests.support import factories
from tests.support.client import get
from tests.support.factories import Tenant, uid
from tests.support.usage import dropped, used

ADDRESS = "127.0.0.1"  # of requests in process


def usage(tenant: Tenant) -> Usage:
    return report.total(report.daily([tenant.key.pk], 30)[tenant.key.pk])


def active(number: int = 1) -> ActiveKey:
    """A key as authentication finds it."""
    return ActiveKey(uid(number, 2), "Sync", "dtd_12345678", uid(1, 1), "Acme", "PRO", False)


def test_usage_counts_each_response_of_a_key_by_its_status(
    acme: Tenant, freebie: Tenant, frozen: Tenant, flusher: ModuleType
) -> None:
    for path in ("/me", "/documents", "/documents/nothing", "/documents?limit=x"):
        acme.get(path)
    acme.get("/me", "POST")
    assert [freebie.get("/me").status, frozen.get("/me").status] == [402, 403]
    flusher.flush()
    assert usage(acme) == Usage(ok=2, errors=3)
    assert usage(freebie) == usage(frozen) == Usage(errors=1)
    row = KeyUsage.objects.get(key_id=acme.key.pk)
    assert (row.workspace_id, row.day) == (acme.workspace.id, today())
    get("/api/v1/me", "Bearer dtd_wrong")
    get("/api/docs")
    flusher.flush()
    assert KeyUsage.objects.count() == 3  # none without a key
    passed = 2
    while acme.get("/documents").status != 429:
        passed += 1
        spend(acme)
    flusher.flush()
    assert usage(acme) == Usage(ok=passed, errors=3, limited=1)


def test_usage_counts_downloads_that_started(acme: Tenant, flusher: ModuleType) -> None:
    path = f"/documents/{factories.document(acme.workspace).id}/download"
    etag = acme.get(path).headers["etag"]
    acme.get(path, Range="bytes=0-9")
    acme.get(path, "HEAD")
    assert acme.get(path, If_None_Match=etag).status == 304
    assert acme.get(path, Range="bytes=99999999-").status == 416
    flusher.flush()
    assert usage(acme) == Usage(ok=4, errors=1, downloads=2)


def test_usage_of_many_keys_is_written_in_one_statement(flusher: ModuleType) -> None:
    now = timezone.now().timestamp()
    for round_ in (1, 2):
        for number in range(100):
            count(active(number), 200, now - buffers.DAY)
            count(active(number), 429, now)
        with CaptureQueriesContext(connection) as captured:
            flusher.flush()
        assert sum('"usage_keyusage"' in query["sql"] for query in captured) == 1
        assert set(KeyUsage.objects.values_list("ok", "limited")) == {(round_, 0), (0, round_)}
    assert KeyUsage.objects.count() == 200


def test_usage_waits_until_it_is_written(
    flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, write = iter([True, True]), COUNTS.write

    def fail_twice(batch: Any) -> None:
        if next(failures, False):
            raise OperationalError("gone")
        write(batch)

    monkeypatch.setattr(COUNTS, "write", fail_twice)
    for expected in (False, False, True, True):
        count(active(), 200, timezone.now().timestamp())
        assert flusher.flush() is expected
    assert KeyUsage.objects.get().ok == 4


def test_usage_refused_is_dropped_alone(
    flusher: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    count(active(), 200, timezone.now().timestamp(), address=ADDRESS)
    ADDRESSES.row("not a pair", [])
    assert flusher.flush()
    assert flusher.flush()
    assert KeyUsage.objects.get().ok == 1
    assert not KeyAddress.objects.exists()
    assert [each.getMessage() for each in caplog.records if each.exc_info] == [
        "The usage of keys (addresses) is lost"
    ]


def test_buffers_are_bounded_and_say_what_they_dropped(
    flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = (COUNTS, ADDRESSES)
    before = [dropped(buffer.kind) for buffer in both]
    for buffer in both:
        monkeypatch.setattr(buffer, "limit", 10)
    for number in [*range(15), 0]:  # the last has a row
        count(active(number), 200, 0.0, address=f"203.0.113.{number}")
    assert [len(buffer) for buffer in both] == [10, 10]
    assert [dropped(buffer.kind) for buffer in both] == [number + 5 for number in before]


def test_last_use_and_addresses_have_their_times_requests_and_client_without_secrets(
    acme: Tenant, flusher: ModuleType
) -> None:
    def last_use() -> tuple[Any, ...]:
        acme.key.refresh_from_db()
        return acme.key.last_used_at, acme.key.last_used_address, acme.key.last_used_client

    assert last_use() == (None, "", "")
    before = timezone.now()
    acme.get("/me", user_agent="curl/8")
    assert flusher.flush()
    first = last_use()
    assert before <= first[0] <= timezone.now()
    assert first[1:] == (ADDRESS, "curl/8")
    for path in ("/me", "/documents/nothing"):
        acme.get(path, user_agent=f"sync/2 {acme.raw} {'x' * 600}")
    assert flusher.flush()
    assert last_use()[0] > first[0]
    assert last_use()[2].startswith(f"sync/2 {acme.key.prefix}… xxx")
    assert len(last_use()[2]) <= 500
    [found] = report.addresses(acme.key.pk)
    assert (found.address, found.requests) == (ADDRESS, 3)
    assert found.user_agent == acme.key.last_used_client
    assert found.first_seen < found.last_seen == acme.key.last_used_at
    newest = last_use()
    count(active()._replace(id=acme.key.pk), 200, 0.0, address=f"fe80::1%{'x' * 100}")
    assert flusher.flush()
    assert last_use() == newest  # one process was late
    assert len(report.addresses(acme.key.pk)[1].address) == 45


def test_key_that_is_refused_has_not_been_used(acme: Tenant, flusher: ModuleType) -> None:
    acme.key.revoke(by=acme.admin)
    assert acme.get("/me").status == 401
    assert flusher.flush()
    acme.key.refresh_from_db()
    assert acme.key.last_used_at is None


def test_addresses_of_a_key_are_the_fifty_seen_last(flusher: ModuleType) -> None:
    now = timezone.now().timestamp()
    count(active(2), 200, now - 1000, address="198.51.100.1")  # of another key
    for number in range(60):
        count(active(), 200, now - number, address=f"203.0.113.{number}")
        if number % 25 == 0:
            flusher.flush()
    flusher.flush()
    found = [each.address for each in report.addresses(uid(1, 2))]
    assert found == [f"203.0.113.{number}" for number in range(50)]
    assert len(report.addresses(uid(2, 2))) == 1


def test_address_is_new_if_seen_first_today(acme: Tenant, flusher: ModuleType) -> None:
    acme.get("/me")
    flusher.flush()
    assert [each.is_new for each in report.addresses(acme.key.pk)] == [False]
    type(acme.key).objects.update(created_at=timezone.now() - timedelta(days=2))
    assert [each.is_new for each in report.addresses(acme.key.pk)] == [True]
    KeyAddress.objects.update(first_seen=timezone.now() - timedelta(days=1))
    assert [each.is_new for each in report.addresses(acme.key.pk)] == [False]


def test_report_has_every_day_with_zeros(db: None) -> None:
    used(uid(1, 2), uid(1, 1), 0, ok=3, downloads=1)
    used(uid(1, 2), uid(1, 1), 2, errors=2, limited=1)
    used(uid(1, 2), uid(1, 1), 3, ok=9)
    used(uid(2, 2), uid(1, 1), 0, ok=1)
    days = [today() - timedelta(days=back) for back in (2, 1, 0)]
    assert report.daily([uid(1, 2), uid(3, 2)], days=3) == {
        uid(1, 2): [
            Day(date=days[0], errors=2, limited=1),
            Day(date=days[1]),
            Day(date=days[2], ok=3, downloads=1),
        ],
        uid(3, 2): [Day(date=day) for day in days],
    }
    of_workspace = report.daily([uid(1, 1), uid(2, 1)], 3, of="workspace_id")
    assert [[day.requests for day in of_workspace[uid(n, 1)]] for n in (1, 2)] == [
        [3, 0, 4],
        [0] * 3,
    ]
    assert report.total(of_workspace[uid(1, 1)]) == Usage(ok=4, errors=2, limited=1, downloads=1)
    assert [day.requests for day in report.daily_of_all(4)] == [9, 3, 0, 4]
    assert report.total(report.daily([uid(1, 2)], 30)[uid(1, 2)]).requests == 15


def test_purge_deletes_old_rows_some_at_a_time(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "ROWS", 2)
    for back in (399, 400, 401, 402, 403):
        used(uid(1, 2), uid(1, 1), back, ok=1)
    for number, days in enumerate((399, 401)):
        seen = timezone.now() - timedelta(days=days)
        KeyAddress.objects.create(
            key_id=uid(1, 2),
            address=f"203.0.113.{number}",
            first_seen=seen,
            last_seen=seen,
            requests=1,
        )
    assert purge.purge()
    assert KeyUsage.objects.count() == 3
    assert not purge.purge()
    assert KeyUsage.objects.count() == 2
    assert KeyAddress.objects.get().address == "203.0.113.0"
