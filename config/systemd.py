"""Tells systemd that this process serves, and then that it still runs Python (sd_notify(3)).

A worker that is stopped, or that never gets the interpreter's lock, says nothing any more; systemd
then replaces the unit's processes (`WatchdogSec`).
"""

import os
import socket
import threading
import time

SECONDS = 3  # between two messages; the unit's WatchdogSec is longer


def start() -> None:
    """Starts the thread that does so; not without systemd."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        threading.Thread(target=_run, args=(address,), name="systemd", daemon=True).start()


def _run(address: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(address.replace("@", "\0", 1))  # "@" begins an abstract socket's name
        while True:
            sender.send(b"READY=1\nWATCHDOG=1")
            time.sleep(SECONDS)
