"""The programs in examples/, run as a customer runs them: in a process, told by its environment."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.factories import Tenant
from tests.proxy import HOST
from tests.server import ROOT, Server

Process = subprocess.Popen[str]


class Examples:
    """The programs in a folder, on a server, with a tenant's key.

    Attributes:
        environment: further variables that they find.
    """

    def __init__(self, folder: Path, server: Server, tenant: Tenant) -> None:
        self.folder = folder
        self.server = server
        self.environment = {
            "PATH": os.environ["PATH"],
            "DTD_BASE_URL": f"http://{HOST}:{server.port}",
            "DTD_API_KEY": tenant.raw,
        }

    def start(self, name: str, *words: str, stderr: int = subprocess.PIPE) -> Process:
        """Starts `examples/NAME.py`."""
        return subprocess.Popen(
            [sys.executable, str(ROOT / "examples" / f"{name}.py"), *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def run(self, name: str, *words: str, status: int = 0) -> str:
        """Runs one to its end, which has to be with `status`; what it printed."""
        return ended(self.start(name, *words), status)


def ended(process: Process, status: int = 0) -> str:
    """What a process printed until its end, which has to be with `status`, and no traceback."""
    out, err = process.communicate()
    assert process.returncode == status, err
    assert "Traceback" not in err
    return out + err


class Asked:
    """The requests that a server gets from here on, out of its access log."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._before = len(server.log())

    def __call__(self) -> list[str]:
        """Each as "me 200", "documents 200" or "download 429", in their order."""
        lines = re.findall(
            r" GET /api/v1/(me|documents)(/\S+)? (\d{3}) ", self._server.log()[self._before :]
        )
        return [f"{'download' if rest else name} {status}" for name, rest, status in lines]
