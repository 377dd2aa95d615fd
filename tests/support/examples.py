"""Runs the programs in examples/ and the command dtd as a customer would, in this process or in one
of their own."""

import contextlib
import os
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from time import sleep
from unittest.mock import patch

import dtd.command
import pytest

from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import ROOT, Server

Process = subprocess.Popen[str]


def path_of(name: str) -> str:
    return str(ROOT / "examples" / f"{name}.py")


class Examples:
    """The programs in a folder, on a server, with a tenant's key.

    Attributes:
        environment: all variables that they find.
        waits: the seconds that they would have waited.
        during_wait: called instead of each wait of a program in this process.
    """

    def __init__(self, folder: Path, server: Server, tenant: Tenant) -> None:
        self.folder = folder
        self.server = server
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "client"),
            "DTD_BASE_URL": f"http://{HOST}:{server.port}",
            "DTD_API_KEY": tenant.raw,
        }
        self.waits: list[float] = []
        self.during_wait: Callable[[], object] = lambda: None

    def start(self, name: str, *words: str, stderr: int = subprocess.PIPE) -> Process:
        """Starts `examples/NAME.py`, or the command dtd, in a process of its own."""
        program = ["-m", "dtd"] if name == "dtd" else [path_of(name)]
        return subprocess.Popen(
            [sys.executable, *program, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def run(self, name: str, *words: str, status: int = 0) -> str:
        """What `examples/NAME.py`, or the command dtd, prints in this process; it never waits."""
        printed, ended_with = StringIO(), 0
        self._runs_in = threading.get_ident()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            patch.dict(os.environ, self.environment, clear=True),
            patch("sys.argv", [path_of(name), *words]),
            patch("time.sleep", self._wait),
        ):
            try:
                if name == "dtd":
                    dtd.command.main(list(words))
                else:
                    runpy.run_path(path_of(name), run_name="__main__")
            except SystemExit as exc:  # handled as Python does
                if isinstance(exc.code, str):
                    print(exc.code)  # noqa: T201
                ended_with = 1 if isinstance(exc.code, str) else int(exc.code or 0)
        assert ended_with == status, printed.getvalue()
        return printed.getvalue()

    def _wait(self, seconds: float) -> None:
        if threading.get_ident() != self._runs_in:
            sleep(seconds)  # a thread of this process that is not the program's
            return
        self.waits.append(seconds)
        self.during_wait()


@pytest.fixture
def examples(tmp_path: Path, server: Server, acme: Tenant) -> Examples:
    """The programs in a folder, on the server, with Acme's key."""
    return Examples(tmp_path, server, acme)


class Requests:
    """The requests that a server gets from here on, from its access log."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._before = len(server.log())

    def __call__(self) -> list[str]:
        """Each as "me 200", "documents 200", "{id} 404" or "download 429", in their order."""
        lines = re.findall(
            r" GET /api/v1/(?:documents/[^/\s]+/)?(\S+) (\d{3}) ",
            self._server.log()[self._before :],
        )
        return [f"{re.sub('^documents/.+', '{id}', name)} {status}" for name, status in lines]
