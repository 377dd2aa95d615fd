"""The fixtures of all tests: the cast they speak of, and the servers they talk to."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection
from django.test import Client, TransactionTestCase
from pytest_django import DjangoDbBlocker

from config import health
from config.checks import HOUSEKEEPING
from documents import storage
from tests.support import factories, roles, seals, staff, webhooks
from tests.support.browser import browser, chromium  # noqa: F401 - fixtures
from tests.support.cast import lease  # noqa: F401 - a fixture
from tests.support.client import api_client, forget_requests, send_forms_as_browsers_do
from tests.support.database import empty_tables
from tests.support.examples import examples  # noqa: F401 - a fixture
from tests.support.factories import Tenant
from tests.support.inbox import inbox  # noqa: F401 - a fixture
from tests.support.nginx import Nginx
from tests.support.proxy import Proxy
from tests.support.receiver import receiver  # noqa: F401 - a fixture
from tests.support.server import PATIENCE, Server, end_connections, running
from tests.support.usage import flusher  # noqa: F401 - a fixture
from workspaces.plans import Plan


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None,
) -> Iterator[None]:
    """The owner creates the test database, and deletes it at the end."""
    with roles.as_owner():
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The tests use the test database as the role that serves."""
    owner = connection.settings_dict
    with django_db_blocker.unblock():
        empty_tables()  # `migrate` has recorded itself
    connection.close()
    connection.settings_dict = settings.DATABASES["default"]
    yield
    with django_db_blocker.unblock():
        end_connections()
    connection.close()
    connection.settings_dict = owner


LONGEST = 20  # seconds that a test needs which counts something by day


def delete_saved_objects() -> None:
    storage.delete(factories.saved_objects)
    factories.saved_objects.clear()


@pytest.fixture(autouse=True, scope="session")
def _as_tests_need_it() -> Iterator[None]:
    """Patches of what tests use, not of what they test."""
    with pytest.MonkeyPatch.context() as patch:
        # After a test whose changes were committed, the role that serves must not empty the tables.
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty_tables())
        send_forms_as_browsers_do(patch)
        # Each client of a test loads the middleware, and WhiteNoise would read all static files.
        patch.setattr(settings, "WHITENOISE_AUTOREFRESH", True, raising=False)
        api_client()  # with settings that no test has changed
        # A page that does not wait for the checks says less.
        patch.setattr(health, "WAIT_SECONDS", PATIENCE)
        # A hash with as many rounds as in production takes a tenth of a second.
        patch.setattr(PBKDF2PasswordHasher, "iterations", 1)
        yield
    delete_saved_objects()


@pytest.fixture
def as_owner(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test itself may change tables; a server that it talks to may not.

    A test without `transactional_db` must name this fixture before all others.
    """
    with django_db_blocker.unblock(), roles.as_owner():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """A page has begun checks; they end before the database is closed to them.

    Their result is kept for a minute, but is of no other test.
    """
    if health._last:
        wait([health._last], PATIENCE)
        health._last = None


AccessLog = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def access_log(settings: Any, capsys: pytest.CaptureFixture[str]) -> AccessLog:
    """Reads the lines of requests that this process has handled since it was last read."""
    settings.LOG_FORMAT = "json"
    return lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """No test finds requests that another one has counted, or its objects.

    Few objects are left, since the S3 server reads each for a listing.
    """
    forget_requests()
    yield
    delete_saved_objects()


@pytest.fixture(autouse=True)
def _one_day() -> None:
    """No test begins in a day's last seconds: what it counts by day would be of two days."""
    day = 24 * 60 * 60
    left = day - time.time() % day
    if left < LONGEST:
        time.sleep(left)


@pytest.fixture
def still_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """No window of failed sign-ins ends during the test; the limits would start again."""
    now = time.time()
    monkeypatch.setattr("django_ratelimit.core.time", SimpleNamespace(time=lambda: now))


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


@pytest.fixture
def ada(acme: Tenant) -> Client:
    return staff.signed_in(acme.admin)


@pytest.fixture
def sam(db: None) -> Client:
    return staff.signed_in(staff.support())


@pytest.fixture
def desk(db: None) -> Client:
    return staff.signed_in(staff.operator())


@pytest.fixture
def point(settings: Any) -> Callable[..., None]:
    """Makes this process use object storage with other options, for example another URL."""

    def point(**options: Any) -> None:
        default = settings.STORAGES["default"]
        changed = {**default, "OPTIONS": default["OPTIONS"] | options}
        settings.STORAGES = {**settings.STORAGES, "default": changed}
        storage.client()

    return point


@pytest.fixture
def way_to_storage(point: Callable[..., None]) -> Iterator[Proxy]:
    """The connections of this process to object storage go through this proxy."""
    proxy = Proxy(os.environ["S3_ENDPOINT_URL"])
    point(endpoint_url=proxy.url)
    yield proxy
    proxy.stop()


Shared = Callable[..., Iterator[Any]]
PUBLIC_KEYS = seals.VARIABLES["AUDIT_PUBLIC_KEYS"]


@pytest.fixture(scope="session")
def shared(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """Yields a server that all tests use: the first one starts it, each restores it at its end."""
    servers: dict[object, Server] = {}
    with contextlib.ExitStack() as stack:

        def use(kind: type[Server], **options: Any) -> Iterator[Server]:
            key = (kind, *options.items())
            if key not in servers:
                server = kind(tmp_path_factory.mktemp(kind.__name__), **options)
                servers[key] = stack.enter_context(running(server))
            yield servers[key]
            servers[key].restore()

        yield use


@pytest.fixture
def server(shared: Shared, transactional_db: None) -> Iterator[Server]:
    """A real server of the API on the test database; what a test stores is committed.

    Its connections to PostgreSQL, S3 and Redis can be cut; they are restored after the test.
    """
    yield from shared(Server, AUDIT_PUBLIC_KEYS=PUBLIC_KEYS)


@pytest.fixture
def pages(shared: Shared, transactional_db: None) -> Iterator[Server]:
    """A real process of pages."""
    yield from shared(Server, ROLE="pages")


@pytest.fixture
def service(shared: Shared, transactional_db: None) -> Iterator[Server]:
    """A real process with pages and the API at one address, as `make run` starts it."""
    yield from shared(Server, ROLE="all", AUDIT_PUBLIC_KEYS=PUBLIC_KEYS)


@pytest.fixture
def json_server(shared: Shared, transactional_db: None) -> Iterator[Server]:
    """A real server of the API that logs as JSON."""
    yield from shared(Server, LOG_FORMAT="json")


@pytest.fixture
def nginx(shared: Shared, transactional_db: None) -> Iterator[Nginx]:
    """A real nginx that serves the downloads of a real server of the API, and pages."""
    yield from shared(Nginx)


@pytest.fixture
def gate(shared: Shared, transactional_db: None) -> Iterator[Nginx]:
    """nginx with TLS in front of two instances."""
    yield from shared(Nginx, tls=True, instances=2)


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
    servers = [Server(tmp_path_factory.mktemp("server")) for _ in range(4)]
    with contextlib.ExitStack() as stack:
        for each in servers:
            stack.enter_context(running(each))
        yield servers


@pytest.fixture
def housekeeping(db: None) -> Iterator[None]:
    """Its process seems to run, so that pages may say that all is well."""
    with webhooks.delivering(HOUSEKEEPING):
        yield


@pytest.fixture
def sealing(settings: Any) -> None:
    """The log of this installation is sealed; by default, it is not."""
    settings.AUDIT_PUBLIC_KEYS = [str(seals.KEY.public)]


@pytest.fixture
def witness(transactional_db: None, settings: Any, tmp_path: Path) -> Path:
    """The variables of the audit log's seals in this process; returns the witness's file."""
    settings.AUDIT_SIGNING_KEY = seals.KEY.encode()
    settings.AUDIT_PUBLIC_KEYS = []
    settings.AUDIT_WITNESSES = [f"file:{tmp_path / 'checkpoints'}"]
    return tmp_path / "checkpoints"
