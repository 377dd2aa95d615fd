"""The fixtures of all tests: the cast they speak of, and the servers they talk to."""

import contextlib
from collections.abc import Iterator

import pytest
from django.core.cache import cache

from documents import storage
from tests import factories, openapi
from tests.browser import browser, chromium  # noqa: F401 - fixtures
from tests.factories import Tenant
from tests.nginx import Nginx
from tests.server import Server, wait_for_completions
from workspaces.plans import Plan


@pytest.fixture(autouse=True)
def _fresh_counters() -> None:
    """Forgets the requests that an earlier test has counted."""
    cache.clear()


@pytest.fixture(autouse=True, scope="session")
def _responses_match_the_schema() -> Iterator[None]:
    """Checks responses also where a test sends a request by itself."""
    with pytest.MonkeyPatch.context() as patch:
        openapi.check_clients(patch)
        yield


@pytest.fixture(autouse=True, scope="session")
def _saved_objects_are_deleted() -> Iterator[None]:
    """After the tests the bucket holds what it held before."""
    yield
    storage.delete(factories.saved_objects)


@pytest.fixture
def acme(db: None) -> Tenant:
    """Acme is on Pro."""
    return factories.tenant("Acme", Plan.PRO, number=1)


@pytest.fixture
def umbrella(db: None) -> Tenant:
    """Umbrella is next door, on Business."""
    return factories.tenant("Umbrella", Plan.BUSINESS, number=2)


@pytest.fixture
def freebie(db: None) -> Tenant:
    """Freebie's plan lacks the API."""
    return factories.tenant("Freebie", Plan.FREE, number=3)


@pytest.fixture
def frozen(db: None) -> Tenant:
    """Frozen is on Pro, and suspended."""
    return factories.tenant("Frozen", Plan.PRO, number=4, suspended=True)


@pytest.fixture(scope="session")
def the_server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One granian process for all tests; they use it through `server`."""
    server = Server(tmp_path_factory.mktemp("server"))
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture
def server(the_server: Server, transactional_db: None) -> Iterator[Server]:
    """A real server on the test database; what a test stores is committed.

    Its connections to PostgreSQL, S3 and Redis can be cut; they are restored after the test.
    """
    yield the_server
    the_server.restore()
    wait_for_completions()


@pytest.fixture(scope="session")
def the_nginx(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """One nginx, and the server behind it, for all tests; they use it through `nginx`."""
    nginx = Nginx(tmp_path_factory.mktemp("nginx"))
    try:
        nginx.wait()
        yield nginx
    finally:
        nginx.stop()


@pytest.fixture
def nginx(the_nginx: Nginx, transactional_db: None) -> Iterator[Nginx]:
    """A real nginx that serves the downloads of a real server, on the test database."""
    yield the_nginx
    the_nginx.restore()


@pytest.fixture(scope="session")
def the_gate(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """One nginx with TLS, for all tests; they use it through `gate`."""
    gate = Nginx(tmp_path_factory.mktemp("gate"), tls=True, instances=2)
    try:
        gate.wait()
        yield gate
    finally:
        gate.stop()


@pytest.fixture
def gate(the_gate: Nginx, transactional_db: None) -> Iterator[Nginx]:
    """nginx with TLS in front of two instances."""
    yield the_gate
    the_gate.restore()


@pytest.fixture(params=["server", "nginx"], ids=["in process", "through nginx"])
def front(request: pytest.FixtureRequest, transactional_db: None) -> Server:
    """The server that a consumer sends requests to."""
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def four_servers(
    django_db_setup: None, transactional_db: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Server]]:
    """Four server processes that share only PostgreSQL, S3 and Redis."""
    with contextlib.ExitStack() as stack:
        servers = []
        for _ in range(4):
            servers.append(Server(tmp_path_factory.mktemp("server"), threads=8))
            stack.callback(servers[-1].stop)
        for each in servers:
            each.wait()
        yield servers
