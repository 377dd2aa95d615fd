"""The usage of keys: counted in the process, written every few seconds, read by pages."""

from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.http import HttpRequest
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apikeys.keys import today
from apikeys.usage import buffer, middleware, purge, report
from apikeys.usage.buffer import BUFFER
from apikeys.usage.models import KeyAddress, KeyUsage
from apikeys.usage.report import Usage
from config.api.active_key import ActiveKey
from tests.apikeys.test_rate_limit import spend
from tests.support import factories
from tests.support.client import get
from tests.support.factories import Tenant, uid
from tests.support.usage import used

ADDRESS = "127.0.0.1"  # of requests in process


def usage(tenant: Tenant) -> Usage:
    return report.total(report.daily("key_id", [tenant.key.pk])[tenant.key.pk])


def active(number: int = 1) -> ActiveKey:
    """A key as authentication finds it."""
    return ActiveKey(uid(number, 2), "Sync", "dtd_12345678", uid(1, 1), "Acme", "PRO", False)


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
    now = timezone.now()
    for round_ in (1, 2):
        for number in range(100):
            BUFFER.count(active(number), 200, now - timedelta(days=1), address="192.0.2.1")
            BUFFER.count(active(number), 200, now - timedelta(days=1), address="192.0.2.2")
            BUFFER.count(active(number), 429, now)
        with CaptureQueriesContext(connection) as captured:
            flusher.flush()
        assert sum('"usage_keyusage"' in query["sql"] for query in captured) == 1
        counts = set(KeyUsage.objects.values_list("ok", "limited"))
        assert counts == {(2 * round_, 0), (0, round_)}
    assert KeyUsage.objects.count() == 200


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
        BUFFER.count(active(), 200, timezone.now())
        assert flusher.flush() is expected
    assert KeyUsage.objects.get().ok == 4
    monkeypatch.setattr(flusher, "write", lambda batch: batch.nothing)
    BUFFER.count(active(), 200, timezone.now())
    assert flusher.flush()
    assert flusher.flush()
    assert [each.getMessage() for each in caplog.records if each.exc_info] == [
        "The usage of keys is lost"
    ]


def test_buffer_is_bounded_and_the_log_says_what_was_dropped(
    flusher: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(buffer, "USES", 10)
    for number in [*range(15), 0]:  # the last has a row
        BUFFER.count(active(number), 200, timezone.now())
    assert flusher.flush()
    assert KeyUsage.objects.count() == 10
    assert "5 requests are not counted" in caplog.text


def test_last_use_and_addresses_have_their_times_requests_and_client_without_secrets(
    acme: Tenant, flusher: ModuleType
) -> None:
    def last_use() -> tuple[datetime | None, str, str]:
        acme.key.refresh_from_db()
        return acme.key.last_used_at, acme.key.last_used_address, acme.key.last_used_client

    def use(minutes: float, address: str = ADDRESS) -> datetime:
        key, at = active()._replace(id=acme.key.pk), timezone.now() + timedelta(minutes=minutes)
        BUFFER.count(key, 200, at, address=address, client="late/1")
        assert flusher.flush()
        return at

    assert last_use() == (None, "", "")
    acme.get("/me", user_agent=f"sync/2 {acme.raw} {'x' * 600}")
    acme.get("/documents/nothing", user_agent="curl/8")
    before = timezone.now()
    assert flusher.flush()
    first = last_use()
    assert first[0] is not None
    assert timedelta() <= before - first[0] < timedelta(seconds=9)
    assert first[1:] == (ADDRESS, "curl/8")
    found = KeyAddress.objects.get()
    assert (found.address, found.requests, found.user_agent) == (ADDRESS, 2, "curl/8")
    assert found.last_seen == first[0]
    use(-1)  # one process was late
    use(0.9)
    assert last_use() == first  # it is written at most once a minute
    assert last_use()[0] != use(1.1)
    newest = use(2.5, "192.0.2.9")
    assert last_use() == (newest, "192.0.2.9", "late/1")
    acme.get("/me", user_agent=f"sync/2 {acme.raw} {'x' * 600}")
    assert flusher.flush()
    agent = KeyAddress.objects.get(address=ADDRESS).user_agent
    assert agent.startswith(f"sync/2 {acme.key.prefix}… xxx")
    assert len(agent) <= 500


def test_key_that_is_refused_has_not_been_used(acme: Tenant, flusher: ModuleType) -> None:
    acme.key.revoke(by=acme.admin)
    assert acme.get("/me").status == 401
    assert flusher.flush()
    acme.key.refresh_from_db()
    assert acme.key.last_used_at is None


def test_addresses_of_a_key_are_the_twenty_seen_last(flusher: ModuleType) -> None:
    now = timezone.now()
    BUFFER.count(active(2), 200, now - timedelta(hours=1), address="198.51.100.1")
    for number in range(30):
        at = now - timedelta(seconds=number)
        BUFFER.count(active(), 200, at, address=f"203.0.113.{number}")
        if number % 12 == 0:
            flusher.flush()
    flusher.flush()
    assert addresses() == [f"203.0.113.{number}" for number in range(20)]
    assert addresses(2) == ["198.51.100.1"]


def test_report_has_every_day_with_zeros(db: None) -> None:
    used(uid(1, 2), uid(1, 1), 0, ok=3, downloads=1)
    used(uid(1, 2), uid(1, 1), 2, errors=2, limited=1)
    used(uid(1, 2), uid(1, 1), 30, ok=9)  # too long ago
    used(uid(2, 2), uid(1, 1), 0, ok=1)
    found = report.daily("key_id", [uid(1, 2), uid(3, 2)])
    assert list(found[uid(1, 2)]) == [today() - timedelta(days=n) for n in reversed(range(30))]
    last = [Usage(errors=2, limited=1), Usage(), Usage(ok=3, downloads=1)]
    assert list(found[uid(1, 2)].values()) == [*[Usage()] * 27, *last]
    assert report.total(found[uid(3, 2)]) == Usage()
    of_workspace = report.daily("workspace_id", [uid(1, 1)])[uid(1, 1)]
    assert of_workspace == report.daily_of_all()
    assert report.total(of_workspace) == Usage(ok=4, errors=2, limited=1, downloads=1)
    assert str(report.total(of_workspace)) == "7 requests, 2 errors, 1 over the limit"


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
    def fail(request: HttpRequest) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr(middleware, "client_address", fail)
    assert acme.get("/me").status == 200
