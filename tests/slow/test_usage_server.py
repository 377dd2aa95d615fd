"""A real server writes what it has counted: within seconds, after failures, and when it ends."""

from pathlib import Path

from django.conf import settings

from apikeys.usage.models import RefusedRequest
from config import env
from tests.support.database import locked
from tests.support.factories import Tenant
from tests.support.server import UNKNOWN_KEY, Server, eventually, running
from tests.support.usage import Usage, find_request, usage_of

NOT_WRITTEN = "The usage of keys is not written"


def test_killed_server_has_written_what_is_older_than_five_seconds(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    seconds = env.VARIABLES["USAGE_FLUSH_SECONDS"].default
    assert int(str(seconds)) == settings.USAGE_FLUSH_SECONDS <= 5
    with running(Server(tmp_path, USAGE_FLUSH_SECONDS=str(seconds))) as server:
        refused = server.get("/documents/nothing", acme.raw).headers["request-id"]
        unknown = server.get("/me", UNKNOWN_KEY).headers["request-id"]
        assert server.get("/me", acme.raw).status == 200
        assert eventually(lambda: usage_of(acme.key.pk) == Usage(ok=1, errors=1)), server.log()
        assert eventually(lambda: find_request(unknown))
        server.get("/me", acme.raw)  # too late
        server.kill()
        assert usage_of(acme.key.pk) in (Usage(ok=1, errors=1), Usage(ok=2, errors=1))
        [row] = find_request(refused)
        assert row.key_id == acme.key.pk


def test_server_that_is_stopped_writes_the_rest(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    with running(Server(tmp_path)) as server:  # it writes nothing before its end
        server.get("/documents/nothing", acme.raw)
        assert not RefusedRequest.objects.exists()
    assert usage_of(acme.key.pk) == Usage(errors=1)
    assert RefusedRequest.objects.filter(key_id=acme.key.pk).count() == 1


def test_server_counts_on_without_the_database_and_writes_it_later(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    with running(Server(tmp_path, USAGE_FLUSH_SECONDS="1")) as server:
        assert server.get("/me", acme.raw).status == 200
        server.database.refuse()
        refused = server.get("/me", acme.raw)
        assert refused.status == 503
        assert eventually(lambda: NOT_WRITTEN in server.log())
        server.restore()
        [row] = eventually(lambda: find_request(refused.headers["request-id"]))
        assert (row.key_prefix, row.status) == (acme.key.prefix, 503)
        assert usage_of(acme.key.pk).ok == 1


def test_locked_table_delays_no_request(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    with running(Server(tmp_path, USAGE_FLUSH_SECONDS="1")) as server:
        with locked("usage_keyusage"):
            assert server.get("/me", acme.raw).status == 200
            assert eventually(lambda: NOT_WRITTEN in server.log())
        assert server.get("/me", acme.raw).status == 200
        assert eventually(lambda: usage_of(acme.key.pk).ok == 2)
