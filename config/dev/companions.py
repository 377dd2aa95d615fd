"""Processes that run beside the server of `make run`."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from config.dev.service import die_with_parent

ROOT = Path(__file__).resolve().parent.parent.parent
STOP_SECONDS = 15


class Companion(NamedTuple):
    """A process beside the server.

    Attributes:
        name: of it, for the log.
        words: a Python program and its arguments, or `-m` and a module's.
        environ: its whole environment.
        without: what does not work while it does not run, and what to do.
    """

    name: str
    words: list[str]
    environ: Mapping[str, str]
    without: str


@contextlib.contextmanager
def running(companions: list[Companion]) -> "Iterator[list[subprocess.Popen[bytes]]]":
    """Runs them meanwhile; they end with this process, however that ends.

    If one ends by itself, the terminal says so, and the others go on.
    """
    stopping = threading.Event()
    processes = [_start(companion, stopping) for companion in companions]
    try:
        yield processes
    finally:
        stopping.set()
        for process in processes:
            process.terminate()
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # workers outlive a granian that was killed


def _start(companion: Companion, stopping: threading.Event) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, *companion.words],
        cwd=ROOT,
        env=companion.environ,
        stdin=subprocess.DEVNULL,
        process_group=0,  # Ctrl-C in the terminal is for the parent, which then stops it
        preexec_fn=lambda: die_with_parent(signal.SIGTERM),  # noqa: PLW1509
    )

    def watch() -> None:
        status = process.wait()
        if not stopping.is_set():
            print(  # noqa: T201 - to the terminal, whatever is logged elsewhere
                f"{companion.name} ended with status {status}: {companion.without}", flush=True
            )

    threading.Thread(target=watch, name=f"{companion.name} watcher", daemon=True).start()
    return process
