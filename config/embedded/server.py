"""The server of `make run`: granian in WSGI mode, one process with a few threads.

As it is one process, the rate limit can be counted in it (`REDIS_URL=memory://`).
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

HOST = "127.0.0.1"
POLL = 0.25  # seconds


def when_parent_dies(then: Callable[[], object]) -> None:
    """Calls `then` from a thread when this process's parent has ended.

    A parent that is killed cannot tell its children, but they get another parent.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL)
        then()

    threading.Thread(target=watch, name="parent watcher", daemon=True).start()


def load_application(target: str) -> Callable[..., Any]:
    """Loads the WSGI application in the server's worker, which ends when the server ends."""
    when_parent_dies(lambda: os._exit(1))
    # Ctrl-C is for the server, which then stops its worker. A worker that gets both signals at
    # once can hang until it is killed.
    os.setpgid(0, 0)
    from config.wsgi import application  # noqa: PLC0415 - only the worker is the server

    return application


def serve(port: int, threads: int) -> None:
    """Serves until a signal stops it; exits with status 1 when the worker fails.

    Args:
        threads: requests that are served at once; a slow download takes one.
    """
    # A forked worker would inherit the locks of this process's threads and its database sockets.
    multiprocessing.set_start_method("spawn", force=True)
    Granian(
        "config.wsgi:application",
        address=HOST,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=threads,
        blocking_threads_idle_timeout=600,  # seconds; a thread's database connection goes with it
        workers_kill_timeout=10,  # seconds that running requests get when it stops
        websockets=False,
        log_level=LogLevels.warning,
    ).serve(target_loader=load_application)
