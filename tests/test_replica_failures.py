"""A replica that is behind, gone, silent, promoted or another database's: no request notices it."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from tests import factories, staff
from tests.client import forget_requests
from tests.factories import Tenant
from tests.replica import ReadingServer, Replica, apart
from tests.server import eventually, running

LIMIT = 6.0  # seconds in which every list is answered


def ids(server: ReadingServer, tenant: Tenant) -> list[str]:
    """The ids of the first page."""
    return [document["id"] for document in server.get("/documents", tenant.raw).json()["data"]]


def statuses_during(server: ReadingServer, tenant: Tenant, happens: Callable[[], object]) -> None:
    """Lists documents all the time while something happens: no request fails or takes long."""
    ended = False

    def request(_: int) -> tuple[set[int], float]:
        seen, longest = set(), 0.0
        while not ended:
            began = time.monotonic()
            seen.add(server.get("/documents?limit=1", tenant.raw).status)
            longest = max(longest, time.monotonic() - began)
            forget_requests()  # of the rate limit
        return seen, longest

    with ThreadPoolExecutor() as threads:
        clients = [threads.submit(request, number) for number in range(4)]
        try:
            happens()
        finally:
            ended = True
        results = [client.result() for client in clients]
    assert set().union(*(seen for seen, _ in results)) == {200}, server.log()
    assert max(longest for _, longest in results) < LIMIT


def operators_page(server: ReadingServer, name: str) -> str:
    """A page of this process, as an operator sees it."""
    session = staff.signed_in(staff.operator()).cookies["sessionid"].value
    return server.request(reverse(name), Cookie=f"sessionid={session}").body.decode()


def test_replica_that_is_held_back_for_ten_seconds_is_not_used(
    reader: ReadingServer, acme: Tenant
) -> None:
    assert "<dt>Last known to be up to date</dt>" in operators_page(reader, "system")
    with reader.replica.delayed(seconds=10):
        factories.document(acme.workspace)
        assert reader.leaves_replica()
        document = factories.document(acme.workspace)
        before = reader.pages()
        assert ids(reader, acme)[0] == str(document.id)
        acme.key.revoke(by=acme.admin)
        assert reader.get("/documents", acme.raw).status == 401
        assert reader.pages() == before
        for page in ("system", "admin:index"):
            html = operators_page(reader, page)
            assert "<dt>Replica for lists</dt>" in html
            assert "not used: it is too far behind. Lists come from the primary database." in html
        assert eventually(lambda: (reader.value("lag_seconds") or 0) > 5)
        assert "The replica is not used: it is too far behind" in reader.log()
    assert reader.uses_replica()


def test_replica_that_is_killed_under_load_fails_no_request(
    reader: ReadingServer, acme: Tenant
) -> None:
    factories.document(acme.workspace)

    def crash() -> None:
        reader.replica.kill()
        assert reader.leaves_replica()
        reader.replica.run()
        before = reader.pages()
        assert reader.uses_replica()
        assert eventually(lambda: reader.pages() > before)

    statuses_during(reader, acme, crash)


def test_replica_that_is_silent_under_load_fails_no_request(
    reader: ReadingServer, acme: Tenant
) -> None:
    factories.document(acme.workspace)

    def silence() -> None:
        reader.link.silence()
        assert reader.leaves_replica()
        time.sleep(1)
        reader.link.restore()
        before = reader.pages()
        assert reader.uses_replica()
        assert eventually(lambda: reader.pages() > before)

    statuses_during(reader, acme, silence)


def test_replica_that_ends_all_connections_under_load_fails_no_request(
    reader: ReadingServer, acme: Tenant
) -> None:
    factories.document(acme.workspace)

    def end() -> None:
        before = reader.pages()
        reader.replica.ask(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        assert eventually(lambda: reader.pages() > before)

    for _ in range(3):
        statuses_during(reader, acme, end)


def test_replica_that_cannot_be_reached_at_start_is_used_later(
    replica: Replica, acme: Tenant, tmp_path: Path
) -> None:
    document = factories.document(acme.workspace)
    replica.catch_up()
    server = ReadingServer(tmp_path, replica)
    server.link.refuse()
    with running(server):
        assert ids(server, acme) == [str(document.id)]
        refused = "The replica is not used: it does not respond"
        assert eventually(lambda: refused in server.log())
        assert server.value("usable") == 0
        assert server.value("lag_seconds") is None
        assert server.pages() == 0
        server.link.restore()
        assert server.uses_replica()
        assert eventually(lambda: ids(server, acme) == [str(document.id)] and server.pages() > 0)
        assert "The replica is used" in server.log()
        # Once per change, not at each look; more than one if a busy machine lets the primary wait.
        assert server.log().count(refused) <= 3


def test_replica_that_was_promoted_is_not_used_nor_is_one_of_it(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    document = factories.document(acme.workspace)
    folders = [tmp_path / "one", tmp_path / "other"]
    for each in folders:
        each.mkdir()
    with (
        apart() as (promoted, stray),
        running(ReadingServer(folders[0], promoted)) as one,
        running(ReadingServer(folders[1], stray)) as other,
    ):
        assert eventually(lambda: "it is not in recovery, so it is no replica" in one.log())
        assert eventually(lambda: "it is not of the primary's cluster" in other.log())
        later = factories.document(acme.workspace)
        for server in (one, other):
            assert ids(server, acme) == [str(later.id), str(document.id)]
            assert server.pages() == 0


def test_server_with_a_replica_opens_as_many_connections_as_the_guide_says(
    reader: ReadingServer, acme: Tenant
) -> None:
    with ThreadPoolExecutor(20) as threads:
        responses = threads.map(lambda _: reader.get("/documents", acme.raw), range(100))
        assert {response.status for response in responses} == {200}
    assert 1 < reader.link.connections <= settings.API_SLOTS + 1
    own = settings.DOWNLOAD_SLOTS + settings.PAGE_SLOTS + 3  # completions, usage, /readyz
    assert reader.database.connections <= settings.API_SLOTS + own + 1
