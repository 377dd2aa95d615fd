"""One embedded service's keeper: `python -m config.embedded.supervisor NAME FOLDER`.

Prints "ready" once the service answers, or one line that says why it does not. Then it restarts
the service when it dies, and stops it and ends when nobody holds the users' lock any more.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from config.embedded import SERVICES
from config.embedded.attach import START_LOCK, STATE, USERS_LOCK
from config.embedded.service import Service

POLL = 0.25  # seconds between looks at the users and at the service
START_TIMEOUT = 60  # seconds; recovery after a crash takes a while
RETRY_FOR = 5  # seconds; a killed predecessor may need a moment to let go of port and memory
STOP_TIMEOUT = 30  # seconds until a service that does not stop is killed


class Stop(Exception):  # noqa: N818 - a request, not an error
    """The keeper itself was asked to end."""


def main(name: str, folder: Path) -> int:
    """Keeps the service until its last user is gone. Returns the exit status."""
    lock = (folder / "keeper.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _raise_stop)
    service = SERVICES[name](folder)
    process: subprocess.Popen[bytes] | None = None
    try:
        service.prepare()
        process = _start(service)
        _write_state(folder, service)
        print("ready", flush=True)  # noqa: T201 - the protocol
        sys.stdout.close()
        while not _nobody_uses(folder):
            if process.poll() is not None:
                sys.stderr.write(f"{name} ended with {process.returncode}; starting it again\n")
                process = _start(service)
            time.sleep(POLL)
    except Stop:
        pass
    except Exception as exc:
        if not sys.stdout.closed:
            print(f"{exc}".strip().replace("\n", " "), flush=True)  # noqa: T201
        raise
    finally:
        (folder / STATE).unlink(missing_ok=True)
        if process is not None:
            _stop(service, process)
    return 0


def _raise_stop(number: int, frame: object) -> None:
    raise Stop


def _start(service: Service) -> "subprocess.Popen[bytes]":
    """Starts the service and waits until it answers; tries again when it ends at once."""
    started = time.monotonic()
    while True:
        process = service.start()
        while process.poll() is None:
            if service.answers():
                return process
            if time.monotonic() > started + START_TIMEOUT:
                _stop(service, process)
                raise TimeoutError(f"no answer within {START_TIMEOUT} seconds")
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


def _write_state(folder: Path, service: Service) -> None:
    new = folder / f"{STATE}.new"
    new.touch(mode=0o600)
    new.write_text(json.dumps({"keeper": os.getpid(), "variables": service.variables()}))
    new.replace(folder / STATE)


def _nobody_uses(folder: Path) -> bool:
    """Whether the users' lock is free. If so, both locks stay held until this process ends.

    A new user takes the start lock first, so none can come between the look and the stop.
    """
    start = (folder / START_LOCK).open("w")
    users = (folder / USERS_LOCK).open("w")
    try:
        fcntl.flock(start, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        start.close()
        users.close()
        return False
    _last_locks.extend([start, users])
    return True


_last_locks: list[object] = []

if __name__ == "__main__":
    # Its starter may live for long and is nobody to wait for it: let it be no child of its own.
    if os.fork():
        os._exit(0)
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
