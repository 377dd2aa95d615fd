"""PostgreSQL, S3 and Redis for the benchmark: embedded ones of its own, set as in production."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
import redis
from psycopg import sql

from bench.launch import ROOT
from config import embedded
from config.embedded import SERVICES

PATIENCE = 60.0  # seconds that PostgreSQL gets to restart
MB = 1024 * 1024


@dataclass(frozen=True)
class Stack:
    """What runs.

    Attributes:
        folder: where all that the benchmark keeps lies.
        postgres, redis: process ids, whose processor time is measured.
    """

    folder: Path
    postgres: int
    redis: int

    def url(self, database: str) -> str:
        """DATABASE_URL of another database of the same server."""
        return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()

    def connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(self.url(database), autocommit=True)

    def run(self, database: str, *words: str) -> None:
        """Runs Python on a database to its end.

        Raises:
            CalledProcessError: it failed; what it wrote is on stderr.
        """
        environment = {**os.environ, "DATABASE_URL": self.url(database)}
        command = [sys.executable, *words]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)  # noqa: S603 - our own

    def forget_requests(self) -> None:
        """The rate limit begins anew."""
        with redis.Redis.from_url(os.environ["REDIS_URL"]) as counter:
            counter.flushdb()


def provide() -> Stack:
    """Starts all parts, or joins them; variables that lead to other ones are not used."""
    folder = embedded.data_dir(os.environ) / "bench"
    for service in SERVICES.values():
        os.environ.pop(service.variable, None)
    embedded.provide(os.environ, folder, ("postgres", "s3", "redis"))
    os.environ["LOG_LEVEL"] = "ERROR"
    _set_as_in_production(folder / "postgres")
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as counter:
        redis_pid: int = counter.info("server")["process_id"]
    return Stack(folder, _postmaster(folder / "postgres"), redis_pid)


def _settings() -> dict[str, str]:
    """What an operator sets for a database of this size; fsync stays on, like all else."""
    memory = psutil.virtual_memory().total // MB
    return {
        "shared_buffers": f"{memory // 4}MB",
        "effective_cache_size": f"{memory // 2}MB",
        "maintenance_work_mem": f"{min(1024, memory // 16)}MB",
        "random_page_cost": "1.1",  # a solid-state disk
        "max_wal_size": "16GB",  # a checkpoint amid a measurement would be somebody's bad luck
        "checkpoint_timeout": "30min",
    }


def _set_as_in_production(folder: Path) -> None:
    url = urlsplit(os.environ["DATABASE_URL"])
    password = json.loads((folder / "secrets.json").read_text())["postgres"]

    def connect() -> psycopg.Connection:
        return psycopg.connect(
            host=url.hostname, port=url.port, user="postgres", password=password, autocommit=True
        )

    with connect() as connection:
        for name, value in _settings().items():
            connection.execute(
                sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
            )
        connection.execute("SELECT pg_reload_conf()")
        time.sleep(0.2)  # the reload is another process's
        waiting = connection.execute("SELECT 1 FROM pg_settings WHERE pending_restart").fetchone()
    if not waiting:
        return
    old = _postmaster(folder)
    os.kill(old, signal.SIGINT)  # its keeper starts it again
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if _postmaster(folder) != old:
                connect().close()
                return
        except (OSError, ValueError, IndexError, psycopg.OperationalError):
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def _postmaster(folder: Path) -> int:
    return int((folder / "cluster" / "data" / "postmaster.pid").read_text().split("\n")[0])
