"""The services of one benchmark, and the database in them that it uses."""

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3
import psutil
import psycopg
import redis
from botocore.config import Config
from psycopg import sql

from bench import loading, log
from bench.loading import Scale
from bench.servers import ROOT
from bench.services import Service
from config import dev as embedded
from config.dev import SERVICES

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

MB = 1024 * 1024


class Stack:
    """PostgreSQL, object storage and Redis on data of their own.

    Started, or attached to; variables that name other ones are ignored.

    Args:
        name: of their folder below DATA_DIR.
    """

    def __init__(self, name: str) -> None:
        self.folder = embedded.data_dir(os.environ) / name
        for variable in [service.variable for service in SERVICES.values()]:
            os.environ.pop(variable, None)
        embedded.provide(os.environ, self.folder, tuple(SERVICES))
        os.environ["LOG_LEVEL"] = "ERROR"
        services = [Service(name, self.folder / name) for name in SERVICES]
        self.postgres, self.s3, self.redis = services
        self.postgres.wait()

    def processes(self) -> list[psutil.Process]:
        """All services' processes, with their supervisors."""
        supervisors = [each.supervisor() for each in (self.postgres, self.s3, self.redis)]
        return [p for s in supervisors for p in (s, *s.children(recursive=True))]

    def connect(self) -> psycopg.Connection:
        """A connection of the role that owns the tables."""
        return psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True)

    def administrator(self) -> psycopg.Connection:
        """A connection of the database's superuser."""
        secrets = json.loads((self.folder / "postgres" / "secrets.json").read_text())
        user = {"user": "postgres", "password": secrets["postgres"]}
        url = os.environ["DATABASE_URL"]
        return psycopg.connect(url, **user, connect_timeout=5, autocommit=True)

    def storage(self) -> "S3Client":
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
        """Uses the database of a scale, which is loaded now or was before."""
        name, fingerprint = f"bench_{scale.name}", loading.fingerprint(scale)
        self._use("postgres")
        with self.connect() as connection:
            found = connection.execute(
                "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
                [name],
            ).fetchone()
            if found != (fingerprint,):
                log(f"loading {name} …")
                self._load(connection, name, scale)
                # Last, so that an interrupted load is repeated.
                comment = sql.SQL("COMMENT ON DATABASE {} IS {}")
                connection.execute(comment.format(sql.Identifier(name), sql.Literal(fingerprint)))
        self._use(name)

    def _load(self, connection: psycopg.Connection, name: str, scale: Scale) -> None:
        started, database = time.monotonic(), sql.Identifier(name)
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
        self._use(name)
        for command in (["migrate"], ["collectstatic", "--no-input", "--clear"]):
            manage = [sys.executable, "manage.py", *command, "--verbosity", "0"]
            subprocess.run(manage, cwd=ROOT, check=True)  # noqa: S603 - our own
        with self.connect() as loader:
            loading.load(loader, self.storage(), scale)
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
                statement = sql.SQL("ALTER SYSTEM SET {} = {}")
                connection.execute(statement.format(sql.Identifier(name), sql.Literal(value)))
            connection.execute("SELECT pg_reload_conf()")
            time.sleep(0.2)  # another process reloads
            pending = "SELECT 1 FROM pg_settings WHERE pending_restart"
            waiting = connection.execute(pending).fetchone()
        if waiting:
            with self.postgres.restarted():
                pass
