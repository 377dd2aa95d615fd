"""A real streaming replica of the tests' PostgreSQL, and servers that read lists from it."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from config import embedded
from config.database import fetch
from config.embedded.postgres import Postgres
from config.embedded.service import HOST
from tests.proxy import Proxy
from tests.server import Server, eventually, running, test_database_url, wait_for_completions

PRIMARY = embedded.data_dir(os.environ) / "tests" / "postgres"  # the folder of the tests' own


class Replica(Postgres):
    """A copy that `pg_basebackup` makes, and that follows the tests' PostgreSQL.

    Attributes:
        url: the tests' database on it, as the role that serves.
    """

    def __init__(self, folder: Path, primary_port: int) -> None:
        folder.mkdir()
        # The passwords are the primary's, since the copy has its roles.
        shutil.copy(PRIMARY / "secrets.json", folder)
        super().__init__(folder)
        self._primary_port = primary_port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        url = urlsplit(test_database_url())
        login = url.netloc.rpartition("@")[0]
        return url._replace(netloc=f"{login}@{HOST}:{self.port}").geturl()

    def _initialise(self) -> None:
        subprocess.run(
            [
                self.program("pg_basebackup"),
                f"--pgdata={self.data}",
                f"--host={HOST}",
                f"--port={self._primary_port}",
                "--username=postgres",
                "--checkpoint=fast",
                "--no-sync",
                "--write-recovery-conf",
            ],
            cwd="/",
            env={**os.environ, "PGPASSWORD": self.passwords["postgres"]},
            **self.identity(),
            check=True,
        )

    def run(self) -> None:
        """Starts it, unless it runs, and waits until it accepts connections."""
        if self._process is not None:
            return
        self.prepare()
        self._process = self.start()
        assert eventually(self._responds), (self.folder / "postgres.log").read_text()

    def _responds(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError):
            return bool(self.ask("SELECT pg_is_in_recovery()"))
        return False

    def kill(self) -> None:
        """Ends it at once, as a crash does."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        """Ends it, if it runs."""
        self._end(signal.SIGINT)

    def _end(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def ask(self, statement: str) -> Any:
        """The one value that a statement returns on it, as its superuser."""
        with psycopg.connect(
            host=HOST,
            port=self.port,
            user="postgres",
            password=self.passwords["postgres"],
            dbname="postgres",
            autocommit=True,
            connect_timeout=5,
        ) as connection:
            row = connection.execute(statement).fetchone()
            assert row is not None
            return row[0]

    def pause(self) -> None:
        """Its state does not change any more, until `resume`."""
        self.ask("SELECT true FROM pg_wal_replay_pause()")
        assert eventually(lambda: self.ask("SELECT pg_get_wal_replay_pause_state()") == "paused")

    def resume(self) -> None:
        """Replays again."""
        self.ask("SELECT true FROM pg_wal_replay_resume()")

    @contextlib.contextmanager
    def delayed(self, seconds: int) -> Iterator[None]:
        """It replays each transaction only so long after that was committed."""
        self._set_delay(f"{seconds}s")
        try:
            yield
        finally:
            self._set_delay("0")

    def _set_delay(self, value: str) -> None:
        file = self.data / "postgresql.auto.conf"
        with file.open("a") as configuration:
            configuration.write(f"recovery_min_apply_delay = '{value}'\n")
        self.ask("SELECT pg_reload_conf()")
        assert eventually(lambda: self.ask("SHOW recovery_min_apply_delay") == value)

    def position(self) -> int:
        """How far it has replayed, in bytes."""
        return int(self.ask("SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint"))

    def catch_up(self) -> None:
        """Waits until it has everything that is committed now."""
        self.reach(int(fetch(FLUSHED, [])[0][0]))

    def reach(self, position: int) -> None:
        """Waits until it has replayed this position."""
        assert eventually(lambda: self.position() >= position)


def _url() -> str:
    return os.environ["DATABASE_URL"]


FLUSHED = "SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint"


def _folder(name: str) -> Path:
    """A folder of this test process."""
    return PRIMARY.parent / f"{name}-{os.environ.get('PYTEST_XDIST_WORKER', 'gw0')}"


@contextlib.contextmanager
def replicating(folder: Path, primary_port: int | None = None) -> Iterator[Replica]:
    """A replica in this folder of the tests' own, which is empty first.

    Args:
        primary_port: of what it follows; None for the tests' PostgreSQL.
    """
    secrets = PRIMARY / "secrets.json"
    if not secrets.exists() or json.loads(secrets.read_text())["documents"] not in _url():
        pytest.skip("PostgreSQL runs elsewhere")
    shutil.rmtree(folder, ignore_errors=True)
    replica = Replica(folder, primary_port or urlsplit(_url()).port or 0)
    try:
        replica.run()
        yield replica
    finally:
        replica.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def apart() -> Iterator[tuple[Replica, Replica]]:
    """A copy of the tests' PostgreSQL that was promoted, and a replica of it.

    No other test writes to them.
    """
    folder = _folder("apart")
    with replicating(folder) as primary:
        assert primary.ask("SELECT pg_promote()")
        with replicating(folder.with_suffix(".2"), primary.port) as replica:
            yield primary, replica


class ReadingServer(Server):
    """A server that reads lists from a replica.

    Attributes:
        replica: it.
        link: the proxy in front of it.
    """

    def __init__(self, folder: Path, replica: Replica, **environment: str) -> None:
        self.replica = replica
        self.link = Proxy(replica.url)
        super().__init__(folder, DATABASE_REPLICA_URL=self.link.url, **environment)

    def stop(self) -> None:
        super().stop()
        self.link.stop()

    def value(self, metric: str, **labels: str) -> float | None:
        """A metric of the replica; None if it has no value."""
        for family in text_string_to_metric_families(self.metrics()):
            for sample in family.samples:
                if sample.name == f"documents_replica_{metric}" and sample.labels == labels:
                    return float(sample.value)
        return None

    def pages(self, outcome: str = "read") -> int:
        """How many pages the replica was asked for with this outcome."""
        return int(self.value("pages_total", outcome=outcome) or 0)

    def uses_replica(self) -> bool:
        """Whether it uses the replica, now or soon."""
        return bool(eventually(lambda: self.value("usable")))

    def leaves_replica(self) -> bool:
        """Whether it does not use the replica, now or soon."""
        return bool(eventually(lambda: self.value("usable") == 0))

    def restore(self) -> bool:
        disturbed = self.link.disturbed
        self.link.restore()
        return super().restore() or disturbed


@pytest.fixture(scope="session")
def the_replica(django_db_setup: None) -> Iterator[Replica]:
    """One replica for all tests; they use it through `replica`."""
    with replicating(_folder("replica")) as replica:
        yield replica


@pytest.fixture
def replica(the_replica: Replica, transactional_db: None) -> Replica:
    """A real replica of the tests' database; what a test stores is committed."""
    the_replica.run()
    the_replica.resume()
    the_replica.catch_up()
    return the_replica


@pytest.fixture(scope="session")
def the_reading_servers(
    the_replica: Replica, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], ReadingServer]]:
    """Makes servers for all tests, by REPLICA_MAX_LAG."""
    with contextlib.ExitStack() as stack:

        @cache
        def made(max_lag: int) -> ReadingServer:
            folder = tmp_path_factory.mktemp("server")
            server = ReadingServer(folder, the_replica, REPLICA_MAX_LAG=str(max_lag))
            return stack.enter_context(running(server))

        yield made


@pytest.fixture
def reader(
    the_reading_servers: Callable[[int], ReadingServer], replica: Replica
) -> Iterator[ReadingServer]:
    """A server that reads lists from the replica, as long as that is at most two seconds behind."""
    server = the_reading_servers(2)
    assert server.uses_replica()
    yield server
    server.restore()
    wait_for_completions()


@pytest.fixture
def patient_reader(
    the_reading_servers: Callable[[int], ReadingServer], replica: Replica
) -> Iterator[ReadingServer]:
    """A server that goes on reading lists from the replica for an hour after `replica.pause`."""
    server = the_reading_servers(3600)
    assert server.uses_replica()
    yield server
    server.restore()
    wait_for_completions()
