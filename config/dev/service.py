"""The base class of the embedded services.

Each one listens on a free loopback port, with credentials of its own.
"""

import ctypes
import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from config.runtime.ports import accepts_connections, free_port

HOST = "127.0.0.1"
START_TIMEOUT = 60  # seconds; recovery after a crash takes a while
RETRY_FOR = 5  # seconds
STOP_TIMEOUT = 30  # seconds until a service that does not stop is killed
# Loaded here: a child with another user id may be unable to read Python's folder.
LIBC = ctypes.CDLL(None)


def write_private(file: Path, text: str) -> None:
    """Writes a file that only this user can read; it is never incomplete."""
    new = file.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(text)
    new.replace(file)


def package_folder(name: str) -> Path:
    """The folder of an installed package.

    Raises:
        FileNotFoundError: it is not installed.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {name} is not installed; run: make install")
    return Path(spec.origin).parent


def die_with_parent(number: int) -> None:
    """Asks the kernel to send signal `number` to this child when its parent dies.

    Linux only. Elsewhere, a parent that is killed leaves its child running.
    """
    if sys.platform == "linux":
        LIBC.prctl(1, number, 0, 0, 0)  # PR_SET_PDEATHSIG


class Service:
    """A service with its own folder.

    Attributes:
        process: its main process, once it was started.
    """

    name: str
    variable: str  # the environment variable that replaces the service
    stop_signal = signal.SIGTERM
    process: "subprocess.Popen[bytes]"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()

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

    def accepts_connections(self) -> bool:
        """Whether the service is ready."""
        return accepts_connections(HOST, self.port)

    def start(self) -> None:
        """Starts the service and returns when it accepts connections.

        It is tried again if the service ends immediately: one whose owner was killed may still be
        ending, and have the data.

        Raises:
            RuntimeError: it ends.
            TimeoutError: it does not accept connections.
        """
        started = time.monotonic()
        while True:
            self.process = process = self._start()
            while process.poll() is None:
                if self.accepts_connections():
                    return
                if time.monotonic() > started + START_TIMEOUT:
                    self.stop()
                    raise TimeoutError(f"no connection within {START_TIMEOUT} seconds")
                time.sleep(0.05)
            if time.monotonic() > started + RETRY_FOR:
                raise RuntimeError(f"it ended with status {process.returncode}")
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

    def secrets(self, *names: str) -> dict[str, str]:
        """Random values, generated at the first start and stored in the folder."""
        file = self.folder / "secrets.json"
        values: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
        if missing := set(names) - values.keys():
            values |= {name: secrets.token_hex(16) for name in missing}
            write_private(file, json.dumps(values))
        return values
