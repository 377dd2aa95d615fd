"""The services of one benchmark, what can happen to them, and the database that is used."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import boto3
import psutil
import psycopg
import redis
from botocore.config import Config

from bench import loading, log
from bench.loading import Scale
from bench.servers import PATIENCE, ROOT
from config import dev as embedded
from config.dev import SERVICES
from config.dev.attach import owned
from config.dev.service import Service as EmbeddedService

MB = 1024 * 1024


class Service:
    """One service, which this process owns.

    Args:
        service: as `config.dev` has started it.
    """

    def __init__(self, service: EmbeddedService) -> None:
        self._service = service
        self.name = service.name

    def processes(self) -> list[psutil.Process]:
        """Its main process, and that one's children."""
        main = psutil.Process(self._service.process.pid)
        return [main, *main.children(recursive=True)]

    def wait(self) -> None:
        """Returns when it accepts connections.

        Raises:
            TimeoutError: it does not.
        """
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, psycopg.OperationalError):
                if self.name == "postgres":  # it accepts connections before it serves
                    psycopg.connect(os.environ["DATABASE_OWNER_URL"], connect_timeout=5).close()
                else:
                    url = urlsplit(os.environ[SERVICES[self.name].variable])
                    socket.create_connection((url.hostname, url.port or 80), timeout=5).close()
                return
            time.sleep(0.1)
        raise TimeoutError(f"{self.name} does not accept connections")

    @contextlib.contextmanager
    def killed(self) -> Iterator[None]:
        """All of its processes are killed; it is started again at the end only."""
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._service.process.wait()
        try:
            yield
        finally:
            self._service.start()
            self.wait()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """All of its processes are stopped: connections are accepted, nothing is answered."""
        stopped = []
        try:
            for _ in range(2):  # the first round misses those that are just being made
                for process in self.processes():
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.suspend()
                        stopped.append(process)
            yield
        finally:
            for process in stopped:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    @contextlib.contextmanager
    def restarted(self) -> Iterator[None]:
        """It ends as an operator ends it, and is started again at once."""
        self._service.stop()
        self._service.start()
        self.wait()
        yield


class Stack:
    """PostgreSQL, object storage and Redis on data of their own.

    Started, and owned by this process; variables that name other ones are ignored.

    Args:
        name: of their folder below DATA_DIR.
    """

    def __init__(self, name: str) -> None:
        self.folder = embedded.data_dir(os.environ) / name
        for variable in [service.variable for service in SERVICES.values()]:
            os.environ.pop(variable, None)
        embedded.provide(os.environ, self.folder, tuple(SERVICES))
        os.environ["LOG_LEVEL"] = "ERROR"
        services = [Service(owned[self.folder / name][0]) for name in SERVICES]
        self.postgres, self.s3, self.redis = services
        self.postgres.wait()

    def processes(self) -> list[psutil.Process]:
        """All services' processes."""
        return [p for each in (self.postgres, self.s3, self.redis) for p in each.processes()]

    def connect(self) -> psycopg.Connection:
        """A connection of the role that owns the tables."""
        return psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True)

    def administrator(self) -> psycopg.Connection:
        """A connection of the database's superuser."""
        secrets = json.loads((self.folder / "postgres" / "secrets.json").read_text())
        url = f"{os.environ['DATABASE_URL']}?user=postgres&password={secrets['postgres']}"
        return psycopg.connect(url, connect_timeout=5, autocommit=True)

    def storage(self) -> Any:
        """A client of object storage."""
        return boto3.client(
            "s3",
            endpoint_url=os.environ["S3_ENDPOINT_URL"],
            aws_access_key_id=os.environ["S3_ACCESS_KEY_ID"],
            aws_secret_access_key=os.environ["S3_SECRET_ACCESS_KEY"],
            config=Config("us-east-1", signature_version="s3v4"),
        )

    def reset_rate_limit(self) -> None:
        with redis.Redis.from_url(os.environ["REDIS_URL"]) as counter:
            counter.flushdb()

    def prepare(self) -> None:
        """Makes every measurement begin alike: no request counted, each key's last use long ago."""
        self.reset_rate_limit()
        with self.connect() as connection:
            connection.execute("UPDATE apikeys_apikey SET last_used_at = now() - interval '1 hour'")

    def load(self, scale: Scale) -> None:
        """Uses the database of a scale, which is loaded now (`bench.loading`) or was before."""
        name, fingerprint = f"bench_{scale.name}", loading.fingerprint(scale)
        self._use("postgres")
        with self.connect() as connection:
            found = connection.execute(
                "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
                [name],
            ).fetchone()
            if found != (fingerprint,):
                connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
                connection.execute(f"CREATE DATABASE {name}".encode())
        self._use(name)
        if found == (fingerprint,):
            return
        log(f"loading {name} …")
        started = time.monotonic()
        as_owner = {**os.environ, "DATABASE_URL": os.environ["DATABASE_OWNER_URL"]}
        for command in (["migrate"], ["collectstatic", "--no-input", "--clear"]):
            manage = [sys.executable, "manage.py", *command, "--verbosity", "0"]
            subprocess.run(manage, cwd=ROOT, env=as_owner, check=True)  # noqa: S603 - our own
        with self.connect() as connection:
            loading.load(connection, self.storage(), scale)
            # Last, so that an interrupted load is repeated.
            connection.execute(f"COMMENT ON DATABASE {name} IS '{fingerprint}'".encode())
        log(f"loaded {name} in {time.monotonic() - started:.0f} s")

    def _use(self, database: str) -> None:
        """Lets the variables name another database of the same server."""
        for variable in ("DATABASE_URL", "DATABASE_OWNER_URL"):
            url = urlsplit(os.environ[variable])
            os.environ[variable] = url._replace(path=f"/{database}").geturl()

    def set_as_in_production(self) -> None:
        """Sets what an operator does for a database of this size; fsync stays on."""
        memory = psutil.virtual_memory().total // MB
        settings = {
            "shared_buffers": f"{memory // 4}MB",
            "effective_cache_size": f"{memory // 2}MB",
            "maintenance_work_mem": f"{min(1024, memory // 16)}MB",
            "random_page_cost": "1.1",  # a solid-state disk
            "max_wal_size": "16GB",  # no checkpoint during a measurement
            "checkpoint_timeout": "30min",
        }
        with self.administrator() as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            connection.execute("SELECT pg_reload_conf()")
            time.sleep(0.2)  # another process reloads
            waiting = connection.execute("SELECT FROM pg_settings WHERE pending_restart").rowcount
        if waiting:
            with self.postgres.restarted():
                pass
