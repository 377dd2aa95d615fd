"""Keeps a server process to one core.

Python runs one thread of a process at a time. On different cores, a thread that hands over to the
next one has to wake that core, whose caches are cold.
"""

import logging
import os
import socket

logger = logging.getLogger(__name__)

_taken: list[socket.socket] = []  # as long as the process lives


def keep_to_one() -> None:
    """Keeps the threads that start from now on to a core that no other process has taken so.

    The kernel keeps the names of abstract sockets, so a core is free again when its process ends.
    """
    for core in sorted(os.sched_getaffinity(0)):
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0documents-api core {core}")
        except OSError:
            name.close()
            continue
        _taken.append(name)
        os.sched_setaffinity(0, {core})
        return
    logger.warning("PIN_WORKERS: each core has a process already; this one uses all of them")
