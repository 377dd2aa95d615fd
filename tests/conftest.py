"""The parts the tests run against (all real), and the cast they speak of.

PostgreSQL, S3 and Redis come from the embedded stack, on a data folder of the tests' own, so that
a running `make run` is neither needed nor disturbed. Variables that are set lead elsewhere.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest

from config import embedded

FOLDER = embedded.data_dir(os.environ) / "tests"
SERVICES = ("postgres", "s3", "redis")

# What would change answers that the golden files hold.
for name in ("ALLOWED_HOSTS", "LOG_LEVEL", "TRUSTED_PROXIES", "UPGRADE_URL"):
    os.environ.pop(name, None)

OURS = "DATABASE_URL" not in os.environ
try:
    embedded.provide(os.environ, FOLDER, SERVICES)
except embedded.StackError as exc:
    raise pytest.UsageError(str(exc)) from exc


def do_not_wait_for_the_disk() -> None:
    """Tests need nothing that survives a power cut; without waiting they are twice as quick."""
    url = urlsplit(os.environ["DATABASE_URL"])
    password = json.loads((FOLDER / "postgres" / "secrets.json").read_text())["postgres"]
    with psycopg.connect(
        host=url.hostname, port=url.port, user="postgres", password=password, autocommit=True
    ) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")


if OURS:
    do_not_wait_for_the_disk()

# Two runs on one folder would share a test database: the second one waits.
FOLDER.mkdir(parents=True, exist_ok=True)
_turn = os.open(FOLDER / "turn.lock", os.O_RDWR | os.O_CREAT)
if "PYTEST_XDIST_WORKER" not in os.environ:
    fcntl.flock(_turn, fcntl.LOCK_EX)

# Not in pyproject.toml: pytest-django would load the settings before this file.
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

import django  # noqa: E402 - the settings read what stands above

django.setup()

from django.core.cache import cache  # noqa: E402

from documents import storage  # noqa: E402
from tests import factories, openapi  # noqa: E402
from tests.browser import browser, chromium  # noqa: E402, F401 - fixtures
from tests.factories import Tenant  # noqa: E402
from tests.nginx import Nginx  # noqa: E402
from tests.server import Server  # noqa: E402
from workspaces.plans import Plan  # noqa: E402


@pytest.fixture(autouse=True)
def _fresh_minute() -> None:
    """No test finds requests that an earlier one has counted."""
    cache.clear()


@pytest.fixture(autouse=True, scope="session")
def _openapi_checks() -> Iterator[None]:
    """Checks responses against the OpenAPI document also where a test makes its own requests."""
    with pytest.MonkeyPatch.context() as patch:
        openapi.check_clients(patch)
        yield


@pytest.fixture(autouse=True, scope="session")
def _clean_store() -> Iterator[None]:
    """The bucket holds after the tests what it held before."""
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

    Its ways to PostgreSQL, S3 and Redis can be cut and are mended after the test.
    """
    yield the_server
    the_server.mend()


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
    """A real nginx that carries the downloads of a real server, on the test database."""
    yield the_nginx
    the_nginx.mend()


@pytest.fixture(params=["server", "nginx"], ids=["in process", "through nginx"])
def front(request: pytest.FixtureRequest, transactional_db: None) -> Server:
    """What a consumer talks to."""
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def four_servers(
    django_db_setup: None, transactional_db: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Server]]:
    """Four server processes that share nothing but PostgreSQL, S3 and Redis."""
    with contextlib.ExitStack() as stack:
        servers = []
        for _ in range(4):
            servers.append(Server(tmp_path_factory.mktemp("server"), threads=8))
            stack.callback(servers[-1].stop)
        for each in servers:
            each.wait()
        yield servers
