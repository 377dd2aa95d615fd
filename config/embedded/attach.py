"""Using a service: start its keeper unless one runs, count as a user until this process ends."""

import contextlib
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

START_LOCK = "start.lock"  # held while a keeper starts or stops: there is one at a time
USERS_LOCK = "users.lock"  # held shared by every process that uses the service
STATE = "state.json"  # the running service's variables; there while its keeper runs

# Open for the rest of the process's life: closing a file would drop its lock.
_held: dict[Path, IO[str]] = {}


class StackError(Exception):
    """An embedded service cannot be had; the text says what a person has to do."""


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Holds an exclusive lock on `file`, waiting for it as long as it takes."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def join(name: str, folder: Path) -> dict[str, str]:
    """Makes this process a user of the service and returns the variables that lead to it.

    Args:
        name: of the service, in `config.embedded`.
        folder: the service's own; made when it is not there.

    Raises:
        StackError: it does not start.
    """
    folder.mkdir(exist_ok=True)
    with locked(folder / START_LOCK):
        if folder not in _held:
            _held[folder] = (folder / USERS_LOCK).open("w")
            fcntl.flock(_held[folder], fcntl.LOCK_SH)
        if not _keeper_runs(folder):
            _start_keeper(name, folder)
        variables: dict[str, str] = json.loads((folder / STATE).read_text())["variables"]
        return variables


def _keeper_runs(folder: Path) -> bool:
    """Whether the keeper that wrote the state is alive; a killed one leaves its state behind."""
    try:
        keeper = json.loads((folder / STATE).read_text())["keeper"]
        os.kill(keeper, 0)
    except (OSError, ValueError, KeyError):
        return False
    return _holds_lock(folder)


def _holds_lock(folder: Path) -> bool:
    """Whether a keeper holds its lock: a process id alone could be somebody else's by now."""
    with (folder / "keeper.lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _start_keeper(name: str, folder: Path) -> None:
    with (folder / "keeper.log").open("a") as log:
        keeper = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "config.embedded.supervisor", name, str(folder)],
            cwd=Path(__file__).resolve().parent.parent.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C in the terminal is for the user, not for it
            text=True,
        )
    assert keeper.stdout is not None  # noqa: S101 - asked for above
    with keeper.stdout:
        said = keeper.stdout.readline().strip()  # returns when it is ready, or has failed
    keeper.wait()  # for the process that has left it in the background
    if said != "ready":
        raise StackError(
            f"The embedded {name} did not start: {said or 'it ended without a word'}. "
            f"Its log is in {folder}."
        )
