"""Attaching this process to a service, whose supervisor is started if none runs."""

import contextlib
import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

START_LOCK = "start.lock"  # held while a supervisor starts or stops
USERS_LOCK = "users.lock"  # held shared by every process that uses the service
SUPERVISOR_LOCK = "supervisor.lock"  # held by the supervisor
VARIABLES = "variables.json"  # the service's variables; valid while the supervisor runs

# Open until the process ends: closing a file would release its lock.
_held: dict[Path, IO[str]] = {}


class StackError(Exception):
    """An embedded service cannot be used; the text says what to do."""


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Holds an exclusive lock on `file`; waits for it without a limit."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def attach(name: str, folder: Path) -> dict[str, str]:
    """Makes this process a user of the service and returns the service's variables.

    Args:
        name: of the service, in SERVICES.
        folder: the service's own folder; created if it does not exist.

    Raises:
        StackError: the service does not start.
    """
    folder.mkdir(exist_ok=True)
    with locked(folder / START_LOCK):
        if folder not in _held:
            _held[folder] = (folder / USERS_LOCK).open("w")
            fcntl.flock(_held[folder], fcntl.LOCK_SH)
        if not is_running(folder):
            _start_supervisor(name, folder)
        variables: dict[str, str] = json.loads((folder / VARIABLES).read_text())
        return variables


def is_running(folder: Path) -> bool:
    """Whether its supervisor holds its lock, which the kernel releases however that ends."""
    with (folder / SUPERVISOR_LOCK).open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _start_supervisor(name: str, folder: Path) -> None:
    with (folder / "supervisor.log").open("a") as log:
        supervisor = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "config.dev.supervisor", name, str(folder)],
            cwd=Path(__file__).resolve().parent.parent.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C in the terminal is for the user, not for it
            text=True,
        )
    assert supervisor.stdout is not None  # noqa: S101 - asked for above
    with supervisor.stdout:
        line = supervisor.stdout.readline().strip()  # printed when it is ready or has failed
    supervisor.wait()  # for the parent, which has forked into the background
    if line != "ready":
        raise StackError(
            f"The embedded {name} did not start: {line or 'it ended without a message'}. "
            f"Its log is in {folder}."
        )
