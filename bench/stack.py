"""The benchmark's own PostgreSQL, S3 and Redis, set as in production, and its databases."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
import redis
from psycopg import sql

from bench import log
from bench.launch import ROOT
from bench.loading.identity import derive
from bench.scale import Scale
from config import embedded
from config.embedded import SERVICES

PATIENCE = 60.0  # seconds that PostgreSQL gets to restart
MB = 1024 * 1024


@dataclass(frozen=True)
class Stack:
    """The services that run."""

    folder: Path  # of all that the benchmark writes
    postgres: int  # process ids, whose processor time is measured
    redis: int

    def url(self, database: str, variable: str = "DATABASE_URL") -> str:
        """The variable's URL of another database of the same server."""
        return urlsplit(os.environ[variable])._replace(path=f"/{database}").geturl()

    def connect(self, database: str) -> psycopg.Connection:
        """A connection of the role that owns the tables."""
        return psycopg.connect(self.url(database, "DATABASE_OWNER_URL"), autocommit=True)

    def prepare(self, database: str) -> None:
        """Makes every measurement begin alike: no request counted, each key's last use long ago."""
        self.reset_rate_limit()
        with self.connect(database) as connection:
            connection.execute("UPDATE apikeys_apikey SET last_used_at = now() - interval '1 hour'")

    def reset_rate_limit(self) -> None:
        with redis.Redis.from_url(os.environ["REDIS_URL"]) as counter:
            counter.flushdb()

    def loaded(self, scale: Scale) -> str:
        """The name of the database of a scale, loaded now (`bench.loading`) or before."""
        name, fingerprint = f"bench_{scale.name}", _fingerprint(scale)
        with self.connect("postgres") as connection:
            found = connection.execute(
                "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
                [name],
            ).fetchone()
            if found == (fingerprint,):
                return name
            log(f"loading {name} …")
            database = sql.Identifier(name)
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
            started = time.monotonic()
            variables = ("DATABASE_URL", "DATABASE_OWNER_URL")
            environment = os.environ | {each: self.url(name, each) for each in variables}
            command = [sys.executable, "-m", "bench.loading", scale.name]
            subprocess.run(command, cwd=ROOT, env=environment, check=True)  # noqa: S603 - our own
            # Last, so that an interrupted load is repeated.
            connection.execute(
                sql.SQL("COMMENT ON DATABASE {} IS {}").format(database, sql.Literal(fingerprint))
            )
        log(f"loaded {name} in {time.monotonic() - started:.0f} s")
        return name


def _fingerprint(scale: Scale) -> str:
    """Changes whenever the loader or the schema would make another database."""
    sources = [*ROOT.glob("bench/loading/*.py"), *ROOT.glob("*/migrations/*.py")]
    sources += ROOT.glob("*/triggers.sql")
    amounts = replace(scale, seconds=0, rounds=0)
    parts = [repr(amounts).encode(), derive("fingerprint").encode()]
    parts += [file.read_bytes() for file in sorted(sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def provide() -> Stack:
    """Starts all services, or attaches to them; ignores variables that name other ones."""
    folder = embedded.data_dir(os.environ) / "bench"
    for service in SERVICES.values():
        os.environ.pop(service.variable, None)
    embedded.provide(os.environ, folder, ("postgres", "s3", "redis"))
    os.environ["LOG_LEVEL"] = "ERROR"
    _set_as_in_production(folder / "postgres")
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as counter:
        redis_pid: int = counter.info("server")["process_id"]
    return Stack(folder, _postmaster(folder / "postgres"), redis_pid)


def _set_as_in_production(folder: Path) -> None:
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
    url = urlsplit(os.environ["DATABASE_URL"])
    password = json.loads((folder / "secrets.json").read_text())["postgres"]
    server = f"host={url.hostname} port={url.port} user=postgres password={password}"
    with psycopg.connect(server, autocommit=True) as connection:
        for name, value in settings.items():
            connection.execute(
                sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
            )
        connection.execute("SELECT pg_reload_conf()")
        time.sleep(0.2)  # another process reloads
        waiting = connection.execute("SELECT 1 FROM pg_settings WHERE pending_restart").fetchone()
    if not waiting:
        return
    old = _postmaster(folder)
    os.kill(old, signal.SIGINT)  # its supervisor starts it again
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError, psycopg.OperationalError):
            if _postmaster(folder) != old:
                psycopg.connect(server).close()
                return
        time.sleep(0.1)
    raise TimeoutError("PostgreSQL does not restart")


def _postmaster(folder: Path) -> int:
    return int((folder / "cluster" / "data" / "postmaster.pid").read_text().split("\n")[0])
