"""Ending with the process that started this one, however that one ended."""

import os
import threading
import time
from collections.abc import Callable

POLL = 0.25  # seconds


def when_parent_dies(then: Callable[[], object]) -> None:
    """Calls `then` from a thread once this process's parent is gone.

    A killed parent tells nobody, but its children get another one.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL)
        then()

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
