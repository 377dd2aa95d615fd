"""The supervisor of an embedded service: `python -m config.dev.supervisor NAME FOLDER`.

It prints "ready" when the service accepts connections, or one line with the reason why it does not.
Then it restarts the service if it dies. When no process holds the users' lock, it stops the service
and ends.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from config.dev import SERVICES
from config.dev.attach import START_LOCK, SUPERVISOR_LOCK, USERS_LOCK, VARIABLES
from config.dev.service import Service, write_private

POLL = 0.25  # seconds between looks at the users and at the service
START_TIMEOUT = 60  # seconds; recovery after a crash takes a while
RETRY_FOR = 5  # seconds; a killed predecessor may still hold its port and memory
STOP_TIMEOUT = 30  # seconds until a service that does not stop is killed


def main(name: str, folder: Path) -> None:
    """Runs the service until its last user has ended."""
    lock = (folder / SUPERVISOR_LOCK).open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit())
    service = SERVICES[name](folder)
    process: subprocess.Popen[bytes] | None = None
    try:
        service.prepare()
        process = _start(service)
        write_private(folder / VARIABLES, json.dumps(service.variables()))
        print("ready", flush=True)  # noqa: T201 - the protocol
        sys.stdout.close()
        while not (_locks := _locks_if_unused(folder)):
            if process.poll() is not None:
                sys.stderr.write(f"{name} ended with {process.returncode}; starting it again\n")
                process = _start(service)
            time.sleep(POLL)
    except Exception as exc:
        if not sys.stdout.closed:
            print(f"{exc}".strip().replace("\n", " "), flush=True)  # noqa: T201
        raise
    finally:
        if process is not None:
            _stop(service, process)


def _start(service: Service) -> "subprocess.Popen[bytes]":
    """Starts the service and waits until it accepts connections; retries if it ends immediately."""
    started = time.monotonic()
    while True:
        process = service.start()
        while process.poll() is None:
            if service.accepts_connections():
                return process
            if time.monotonic() > started + START_TIMEOUT:
                _stop(service, process)
                raise TimeoutError(f"no connection within {START_TIMEOUT} seconds")
            time.sleep(0.05)
        if time.monotonic() > started + RETRY_FOR:
            raise RuntimeError(f"it ended with status {process.returncode}")
        time.sleep(0.5)


def _stop(service: Service, process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(service.stop_signal)
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _locks_if_unused(folder: Path) -> list[IO[str]]:
    """Both locks, if no process uses the service; the caller holds them until the service stops.

    A new user takes the start lock first, so none can attach between this check and the stop.
    """
    start = (folder / START_LOCK).open("w")
    users = (folder / USERS_LOCK).open("w")
    try:
        fcntl.flock(start, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        start.close()
        users.close()
        return []
    return [start, users]


if __name__ == "__main__":
    # Fork, so that the process that started us, which may be long-lived, need not reap us.
    if os.fork():
        os._exit(0)
    main(sys.argv[1], Path(sys.argv[2]))
