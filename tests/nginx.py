"""A real nginx with deploy/nginx.conf, in front of a real server with X-Accel redirects."""

import json
import os
import shutil
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command

from config.embedded.service import free_port
from tests.proxy import HOST
from tests.server import EXEC, PATIENCE, ROOT, Server


def program() -> str:
    """The path of nginx. Only CI must have it."""
    # Debian installs it where only root's PATH leads.
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if found is None and "CI" not in os.environ:
        pytest.skip("nginx is not installed (on Debian: apt-get install nginx-light)")
    assert found, "nginx is not installed"
    return found


def record_completions(log: Path) -> dict[str, int]:
    """Runs `record_download_completions` on a log; returns the counts that it prints."""
    out = StringIO()
    with log.open() as file, patch("sys.stdin", file):
        call_command("record_download_completions", stdout=out, stderr=StringIO())
    counts: dict[str, int] = json.loads(out.getvalue())
    return counts


class Nginx(Server):
    """A server behind nginx: its responses are those that nginx passes on."""

    def __init__(self, folder: Path, **environment: str) -> None:
        program()
        super().__init__(folder, X_ACCEL_DOWNLOADS="yes", TRUSTED_PROXIES="1", **environment)
        application, self.port = self.port, free_port()
        self.logs = folder / "nginx" / "logs"
        self.logs.mkdir(parents=True)
        configuration = shutil.copy(ROOT / "deploy" / "nginx.conf", self.logs.parent)
        store = urlsplit(self.store.url).netloc
        (self.logs.parent / "listen.conf").write_text(f"listen {HOST}:{self.port};\n")
        (self.logs.parent / "upstreams.conf").write_text(
            f"upstream app {{ server {HOST}:{application}; keepalive 8; }}\n"
            f"upstream object_storage {{ server {store}; keepalive 8; }}\n"
        )
        # Started by root, nginx would switch to a user who cannot read the tests' folder.
        itself = "daemon off;" + ("user root;" if os.geteuid() == 0 else "")
        options = ["-p", f"{self.logs.parent}/", "-c", str(configuration), "-g", itself]
        self._nginx = subprocess.Popen([sys.executable, "-c", EXEC, program(), *options])

    @property
    def completions(self) -> Path:
        """The log of how downloads ended."""
        return self.logs / "downloads.log"

    def rotate(self) -> Path:
        """Renames the log of completions, as logrotate does, and has nginx open a new one."""
        number = len(list(self.logs.glob("downloads.log*")))
        rotated = self.completions.rename(self.logs / f"downloads.log.{number}")
        self._nginx.send_signal(signal.SIGUSR1)
        return rotated

    def stop(self) -> None:
        self._nginx.terminate()
        self._nginx.wait(PATIENCE)
        super().stop()

    def written(self) -> str:
        """The text of all of nginx's logs."""
        return "".join(file.read_text() for file in self.logs.iterdir())
