"""The services of one benchmark, what can happen to them, and the database that is used."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil
import psycopg
import redis

from bench import loading, log, servers
from bench.loading import ROOT, Scale
from config.dev.services import HOST, Service, provide, started
from config.env import data_dir
from tests.support.redis_service import SERVICES


def _signal(service: Service, number: int) -> None:
    """To all of its processes; the second round is for those that were just being made."""
    for _ in range(2):
        for process in servers.children(service.process):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        service.process.send_signal(number)


@contextlib.contextmanager
def killed(service: Service) -> Iterator[None]:
    """All of its processes are killed; it is started again at the end only."""
    _signal(service, signal.SIGKILL)
    service.process.wait()
    yield
    service.start()


@contextlib.contextmanager
def silent(service: Service) -> Iterator[None]:
    """All of its processes are stopped: connections are accepted, nothing is answered."""
    try:
        _signal(service, signal.SIGSTOP)
        yield
    finally:
        _signal(service, signal.SIGCONT)


class Stack:
    """PostgreSQL, object storage and Redis on data of their own, in a folder of DATA_DIR.

    Started, and owned by this process; variables that name other ones are ignored. Every process
    that is started later finds them in os.environ.
    """

    def __init__(self, name: str) -> None:
        self.folder = data_dir() / name
        for service in SERVICES:
            os.environ.pop(service.variable, None)
        os.environ.setdefault("HTTPS_ONLY", "no")
        provide(self.folder, SERVICES)
        self.postgres, self.s3, self.redis = started
        with self.administrator() as connection:
            connection.execute("ALTER ROLE documents_owner CREATEDB")

    def connect(self) -> psycopg.Connection:
        """As the role that owns the tables."""
        return psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True)

    def administrator(self) -> psycopg.Connection:
        url = f"{os.environ['DATABASE_URL']}?user=postgres"
        return psycopg.connect(url, connect_timeout=5, autocommit=True)

    def prepare(self) -> None:
        """Makes every measurement begin alike: no request counted, each key's last use long ago."""
        with redis.Redis.from_url(os.environ["REDIS_URL"]) as counter:
            counter.flushdb()
        with self.connect() as connection:
            # In the order in which a server locks the keys whose use it writes.
            connection.execute(
                "UPDATE apikeys_apikey SET last_used_at = now() - interval '1 hour'"
                " WHERE id IN (SELECT id FROM apikeys_apikey ORDER BY id FOR UPDATE)"
            )

    def load(self, scale: Scale) -> None:
        name = f"bench_{scale.name}"
        log(f"loading {name} …")
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {name}".encode())
        for variable in ("DATABASE_URL", "DATABASE_OWNER_URL"):
            os.environ[variable] = urlsplit(os.environ[variable])._replace(path=name).geturl()
        as_owner = {**os.environ, "DATABASE_URL": os.environ["DATABASE_OWNER_URL"]}
        manage = partial(subprocess.run, cwd=ROOT, env=as_owner, check=True, capture_output=True)
        manage([sys.executable, "manage.py", "migrate"])
        with self.connect() as connection:
            bucket = self.folder / "s3" / "buckets" / os.environ["S3_BUCKET"]
            loading.load(connection, bucket, scale)
            log("  housekeeping, indexes, vacuum and statistics …")
            manage([sys.executable, "manage.py", "housekeeping"])
            # Its indexes are then as dense as those of a table that is read more than written.
            connection.execute("REINDEX SCHEMA public")
            connection.execute("VACUUM (ANALYZE)")

    def set_as_in_production(self) -> None:
        """Restarts PostgreSQL with what an operator sets for a database of this size.

        It and Redis are reached by their sockets from now on, as deploy/install makes it.
        """
        memory = psutil.virtual_memory().total // 2**20
        settings = {"random_page_cost": "1.1"}  # a solid-state disk
        settings |= {"max_wal_size": "16GB", "checkpoint_timeout": "30min"}  # none meanwhile
        sizes = {"shared_buffers": 4, "effective_cache_size": 2, "maintenance_work_mem": 25}
        settings |= {name: f"{memory // part}MB" for name, part in sizes.items()}
        with self.administrator() as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        # Not in DATA_DIR: the path of a socket has 107 bytes at most.
        self._sockets = tempfile.TemporaryDirectory(prefix="bench-")
        sockets = Path(self._sockets.name)
        sockets.chmod(0o777)  # PostgreSQL does not run as root
        self.postgres.command.append(f"--unix_socket_directories={sockets}")
        self.redis.command += ["--unixsocket", f"{sockets}/redis"]
        for service in (self.postgres, self.redis):
            service.stop()
            service.start()
        for variable in ("DATABASE_URL", "DATABASE_OWNER_URL"):
            host = f"@{HOST}:{self.postgres.port}"
            socket = f"@{quote(str(sockets), safe='')}:{self.postgres.port}"
            os.environ[variable] = os.environ[variable].replace(host, socket)
        os.environ["REDIS_URL"] = f"unix://{sockets}/redis?db=0"
