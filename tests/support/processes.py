"""Starts, finds and kills processes of a stack that is not the tests' own."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from config import env
from tests.support import seals
from tests.support.server import ROOT, eventually, test_database_url


def heed_signals() -> None:
    """For `preexec_fn`: what a shell starts in the background, or nohup, ignores them otherwise."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def bare_environment(folder: Path) -> dict[str, str]:
    """The environment of a user who has set only DATA_DIR."""
    ours = (*env.VARIABLES, "DATABASE_OWNER_URL", "DJANGO_SETTINGS_MODULE")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "DATA_DIR": str(folder)}


def start(*command: str | Path, folder: Path, **options: str) -> "subprocess.Popen[str]":
    """Starts a command in the project's folder, in a process group of its own."""
    return subprocess.Popen(
        [str(word) for word in command],
        cwd=ROOT,
        env={**bare_environment(folder), **options},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=heed_signals,
    )


def read_terminal(terminal: int) -> bytes:
    """All that programs write to a pseudo-terminal until the last one has closed it."""
    written = b""
    with contextlib.suppress(OSError):  # Linux: the other end is closed
        while block := os.read(terminal, 65536):
            written += block
    os.close(terminal)
    return written


def manage(
    *words: str | Path, folder: Path, program: tuple[str, ...] = ("manage.py",)
) -> "subprocess.CompletedProcess[str]":
    """Runs manage.py, or another Python program with its commands, to its end."""
    return subprocess.run(
        [sys.executable, *program, *map(str, words)],
        cwd=ROOT,
        env=bare_environment(folder),
        capture_output=True,
        text=True,
    )


def using(folder: Path) -> list[str]:
    """The command lines of the processes that use a data folder."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if str(folder) in " ".join(words) or process.environ().get("DATA_DIR") == str(folder):
                found.append(" ".join(words))
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def all_gone(folder: Path) -> bool:
    return bool(eventually(lambda: not using(folder)))


def kill_group(process: "subprocess.Popen[str]") -> None:
    """Kills a command that `start` started, and the other processes in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


# The variables of an installation, but for those that the tests have anyway.
PRODUCTION = {
    "HTTPS_ONLY": "yes",
    "TRUSTED_PROXIES": "1",
    "ALLOWED_HOSTS": "api.example.com",
    "AUDIT_PUBLIC_KEYS": str(seals.KEY.public),
    "AUDIT_WITNESSES": "file:/var/lib/documents-api/checkpoints,bucket",
    "AUDIT_WITNESS_BUCKET": "documents-checkpoints",
}


def check(**environment: str) -> str:
    """What the command prints on stderr, with the variables of production and these."""
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--database", "default"]
        + ["--fail-level", "WARNING"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": test_database_url(), **PRODUCTION, **environment},
        capture_output=True,
        text=True,
    )
    return done.stderr if done.returncode else ""
