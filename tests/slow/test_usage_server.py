"""A real server writes what it has counted: within seconds, after failures, and when it ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from apikeys.usage import report
from apikeys.usage.models import RefusedRequest
from apikeys.usage.report import Usage
from config import env
from tests.config.test_metrics import value
from tests.support.database import locked
from tests.support.factories import Tenant
from tests.support.server import UNKNOWN_KEY, Server, eventually, running
from tests.support.usage import find_request

FAILURES = "documents_usage_flush_failures_total"


@pytest.fixture
def quick(transactional_db: None, tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own, which writes each second."""
    with running(Server(tmp_path, USAGE_FLUSH_SECONDS="1")) as server:
        yield server


def usage(tenant: Tenant) -> Usage:
    return report.total(report.daily([tenant.key.pk], 30)[tenant.key.pk])


def test_killed_server_has_written_what_is_older_than_five_seconds(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    seconds = env.VARIABLES["USAGE_FLUSH_SECONDS"].default
    assert int(str(seconds)) == settings.USAGE_FLUSH_SECONDS <= 5
    with running(Server(tmp_path, USAGE_FLUSH_SECONDS=str(seconds))) as server:
        refused = server.get("/documents/nothing", acme.raw).headers["request-id"]
        unknown = server.get("/me", UNKNOWN_KEY).headers["request-id"]
        server.get("/me", acme.raw)
        assert eventually(lambda: usage(acme) == Usage(ok=1, errors=1))
        assert eventually(lambda: find_request(unknown))
        server.get("/me", acme.raw)  # too late
        server.kill()
        assert usage(acme) in (Usage(ok=1, errors=1), Usage(ok=2, errors=1))
        [row] = find_request(refused)
        assert row.key_id == acme.key.pk


def test_server_that_is_stopped_writes_the_rest(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    with running(Server(tmp_path)) as server:  # it writes nothing before its end
        server.get("/documents/nothing", acme.raw)
        assert not RefusedRequest.objects.exists()
        for kind, waiting in {"usage": 1, "addresses": 1, "refused": 2}.items():  # one of 401
            assert value(server, "documents_usage_waiting", kind=kind) == waiting
            assert value(server, "documents_usage_dropped_total", kind=kind) == 0
    assert usage(acme) == Usage(errors=1)
    assert RefusedRequest.objects.filter(key_id=acme.key.pk).count() == 1


def test_server_counts_on_without_the_database_and_writes_it_later(
    quick: Server, acme: Tenant
) -> None:
    assert quick.get("/me", acme.raw).status == 200
    assert eventually(lambda: usage(acme).ok == 1)
    quick.get("/me", acme.raw)
    quick.database.refuse()
    refused = quick.get("/me", acme.raw)
    assert refused.status == 503
    assert eventually(lambda: value(quick, FAILURES, kind="usage") > 0)
    quick.restore()
    quick.get("/me", acme.raw)
    assert eventually(lambda: usage(acme).ok == 3)
    [row] = eventually(lambda: find_request(refused.headers["request-id"]))
    assert row.key_id == acme.key.pk  # found later, by the digest of the key
    assert row.cause == "database"


def test_locked_table_of_usage_delays_no_request(quick: Server, acme: Tenant) -> None:
    with locked("usage_keyusage"):
        for _ in range(3):
            assert quick.get("/me", acme.raw).status == 200
        assert eventually(lambda: value(quick, FAILURES, kind="usage") >= 3)
        assert report.addresses(acme.key.pk)[0].requests == 3  # another table
        assert quick.get("/me", acme.raw).status == 200
    assert eventually(lambda: usage(acme).ok == 4)
    assert value(quick, "documents_usage_lost_total", kind="usage") == 0
