"""Tells systemd that this process serves, and then that it still does (sd_notify(3)).

A process says nothing any more if it is stopped or never gets the interpreter's lock. systemd then
replaces the unit's processes (`WatchdogSec`). If all its threads hang in requests, it asks for that
at once: a server that is frozen, but whose machine is not, never ends a connection.
"""

import os
import socket
import threading
import time

SECONDS = 1  # between two messages; the unit's WatchdogSec is longer
HANGS_SECONDS = 8  # after that, nginx gives up a request of the API
running: dict[str, float] = {}  # when each request that runs has begun, by its id


def start() -> None:
    if address := os.environ.get("NOTIFY_SOCKET"):
        threading.Thread(target=_run, args=(address,), name="systemd", daemon=True).start()


def _run(address: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(address.replace("@", "\0", 1))  # "@" begins an abstract socket's name
        while True:
            sender.send(b"WATCHDOG=trigger" if hangs() else b"READY=1\nWATCHDOG=1")
            time.sleep(SECONDS)


def hangs() -> bool:
    """Whether each thread has run the same request for too long. Only the API's unit says how many.

    A page may take longer.
    """
    threads = os.environ.get("GRANIAN_BLOCKING_THREADS")
    if threads is None:
        return False
    before = time.monotonic() - HANGS_SECONDS
    late = sum(began < before for began in list(running.values()))
    return late >= int(threads)
