"""TCP ports of this machine: free ones, and those on which something listens."""

import contextlib
import os
import random
import socket
import sys
from collections import deque

RESERVED = 64  # the last free ports, which no other process gets either
_reserved: deque[int] = deque()


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nothing uses now, below those that the kernel gives to clients.

    On Linux, a socket of this process stays bound to it, so that nobody else finds it free until a
    server listens there. It does not listen, and servers set SO_REUSEADDR: it is not in their way.
    """
    while True:
        port = random.randrange(20_000, 32_000)  # noqa: S311 - no secret
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind((host, port))
            if sys.platform == "linux":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                _reserved.append(probe.detach())
                if len(_reserved) > RESERVED:
                    os.close(_reserved.popleft())
            return port


def usable_port(host: str, port: str) -> int:
    """The port as a number; a ValueError says why it is none, or that it is in use.

    granian itself would share the port with another server.
    """
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise ValueError("The port must be a number from 1 to 65535.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError as exc:
            raise ValueError(f"Port {port} cannot be used: {exc.strerror}.") from None
    return int(port)


def accepts_connections(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True
