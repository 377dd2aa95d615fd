"""The sealer of the audit log beside the server of `make run`."""

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

logger = logging.getLogger(__name__)

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"
STOP_SECONDS = 10


@contextlib.contextmanager
def sealer(environ: dict[str, str]) -> Iterator[None]:
    """Runs `seal_audit --follow` meanwhile; it ends with this process, however that ends.

    If it ends by itself, the log says so, and the server goes on.

    Args:
        environ: its environment; it alone needs the secret key.
    """
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, MANAGE, "seal_audit", "--follow", "--stop-with", str(os.getpid())],
        env=environ,
        stdin=subprocess.DEVNULL,
        process_group=0,  # Ctrl-C in the terminal is for the parent, which then stops it
    )
    stopping = threading.Event()
    threading.Thread(
        target=_watch, args=(process, stopping), name="sealer watcher", daemon=True
    ).start()
    try:
        yield
    finally:
        stopping.set()
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        process.kill()


def _watch(process: "subprocess.Popen[bytes]", stopping: threading.Event) -> None:
    status = process.wait()
    if not stopping.is_set():
        logger.error(
            "seal_audit ended with status %d: the audit log is not sealed until it runs again. "
            "Run: python manage.py seal_audit --follow",
            status,
        )
