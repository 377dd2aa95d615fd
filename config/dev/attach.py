"""Using a service: the process that needs it first starts it and owns it, and others join.

The service ends with its owner, however that ends. Locks of files show what is the case: the kernel
releases those of a process that was killed.
"""

import atexit
import contextlib
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from config.dev.service import Service, write_private

START_LOCK = "start.lock"  # held while a service starts
OWNER_LOCK = "owner.lock"  # held by the process that owns the service, until that ends
VARIABLES = "variables.json"  # the service's variables, valid while it has an owner

# By their folder. The locks stay open until the process ends: closing one would release it.
owned: dict[Path, tuple[Service, IO[str]]] = {}


class StackError(Exception):
    """An embedded service cannot be used; the text says what to do."""


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Holds an exclusive lock on `file`; waits for it without a limit."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def attach(kind: type[Service], folder: Path) -> dict[str, str]:
    """The variables of a service, which this process starts and owns if no other one does.

    Args:
        folder: the service's own folder; created if it does not exist.

    Raises:
        StackError: the service does not start.
    """
    folder.mkdir(exist_ok=True)
    with locked(folder / START_LOCK):
        if lock := _own(folder):
            try:
                service = kind(folder)
                service.prepare()
                service.start()
            except Exception as exc:
                lock.close()  # the next process tries it itself
                text = " ".join(str(exc).split())
                raise StackError(
                    f"The embedded {kind.name} did not start: {text}. Its log is in {folder}."
                ) from exc
            write_private(folder / VARIABLES, json.dumps(service.variables()))
            owned[folder] = service, lock
            atexit.register(service.stop)
        variables: dict[str, str] = json.loads((folder / VARIABLES).read_text())
        return variables


def _own(folder: Path) -> IO[str] | None:
    """The lock of a service's owner; None if a process owns it, maybe this one."""
    if folder in owned:
        return None
    handle = (folder / OWNER_LOCK).open("w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        return None
    return handle


def is_running(folder: Path) -> bool:
    """Whether a process owns the service."""
    if handle := _own(folder):
        handle.close()
    return handle is None
