"""The process that serves: it says that it lives, and ends with its supervisor."""

import atexit
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import parent_process
from typing import Any, Protocol

from config.management.shutdown import when_parent_dies

RECORDING = 3.0  # seconds before the end of the grace period in which broken-off work is recorded


class Heartbeat(Protocol):
    """A number that the worker and its supervisor share: when the worker last said it lives."""

    value: float


def load_application(heartbeat: Heartbeat, grace: float, target: str) -> Callable[..., Any]:
    """Loads the WSGI application in the worker.

    Args:
        heartbeat: set once the application is loaded, and then once a second.
        grace: seconds between SIGTERM and the end.
        target: granian's argument; not used.
    """
    parent = parent_process()
    assert parent is not None  # noqa: S101 - granian starts a worker as a child
    assert parent.pid is not None  # noqa: S101
    when_parent_dies(parent.pid, lambda: os._exit(1))
    # Ctrl-C is for the supervisor, which then stops its worker. A worker that gets both signals at
    # once can hang until it is killed.
    os.setpgid(0, 0)
    from config.wsgi import application, break_off  # noqa: PLC0415 - only the worker is the server

    heartbeat.value = time.monotonic()  # before it responds: a worker killed then has lived
    threading.Thread(target=_beat, args=(heartbeat,), name="heartbeat", daemon=True).start()
    _after_sigterm(max(0.0, grace - RECORDING), break_off)
    # granian ends when the last byte is sent, which is before its thread has recorded that.
    atexit.register(break_off, patience=RECORDING)
    return application


def _beat(heartbeat: Heartbeat) -> None:
    while True:
        heartbeat.value = time.monotonic()
        time.sleep(1)


def _after_sigterm(grace: float, break_off: Callable[..., None]) -> None:
    """At the end of the grace period, records what is still running as broken off, and exits.

    granian waits for running requests without a limit; its main thread cannot be asked then.
    """
    main = threading.main_thread()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def wait() -> None:
        while (number := os.read(reader, 1)[0]) not in (signal.SIGTERM, signal.SIGINT):
            pass
        # If the kernel gave the signal to another thread, the main thread sleeps on and granian's
        # handler does not run.
        signal.pthread_kill(main.ident or 0, number)
        time.sleep(grace)
        break_off(patience=0)
        os._exit(0)

    threading.Thread(target=wait, name="shutdown", daemon=True).start()
