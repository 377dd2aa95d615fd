"""The application server: granian in WSGI mode, one process with a few threads."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

POLL = 0.25  # seconds


def when_parent_dies(then: Callable[[], object]) -> None:
    """Calls `then` from a thread once this process's parent is gone.

    A killed parent cannot notify its children, but they get another parent.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL)
        then()

    threading.Thread(target=watch, name="parent-watcher", daemon=True).start()


HOST = "127.0.0.1"


def load_application(target: str) -> Callable[..., Any]:
    """Loads the WSGI application in the worker, which ends if the server is killed."""
    when_parent_dies(lambda: os._exit(1))
    # Ctrl-C is for the server only, which then stops its worker. A worker that receives both
    # signals at the same time can hang until it is killed.
    os.setpgid(0, 0)
    from config.wsgi import application  # noqa: PLC0415 - only the worker is the server

    return application


def serve(port: int, threads: int) -> None:
    """Serves until a signal stops it; exits with status 1 when the worker fails.

    Args:
        threads: requests answered at once; a slow download takes one.
    """
    # A forked worker would inherit this process's threads' locks and its database sockets.
    multiprocessing.set_start_method("spawn", force=True)
    Granian(
        "config.wsgi:application",
        address=HOST,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=threads,
        blocking_threads_idle_timeout=600,  # seconds; a thread's database connection goes with it
        workers_kill_timeout=10,  # seconds that running requests get at the end
        websockets=False,
        log_level=LogLevels.warning,
    ).serve(target_loader=load_application)
