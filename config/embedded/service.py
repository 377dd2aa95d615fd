"""What a keeper can run: how it is prepared, started, asked whether it answers, and stopped.

All services listen on a free loopback port with credentials of their own, so that neither a long
path nor another user of the machine gets in the way.
"""

import ctypes
import importlib.util
import json
import os
import secrets
import signal
import socket
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
