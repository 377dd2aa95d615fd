"""Connections to addresses that were checked; TLS and the Host header have the host's name."""

import socket
from functools import partial
from typing import Any

import httpcore
from anyio import CapacityLimiter, to_thread

from events.webhooks.targets import is_allowed

CONNECT_SECONDS = 5.0  # for one address of several
_RESOLVERS = CapacityLimiter(1000)  # more threads than attempts of a process


class AttemptFailed(Exception):
    """No response; the text is a sentence for the workspace's admins."""


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to a host whose addresses are all allowed. For TLS, the host's name stays."""

    def __init__(self) -> None:
        self._network = httpcore.AnyIOBackend()
        self._stream: httpcore.AsyncNetworkStream | None = None

    async def connect_tcp(
        self, host: str, port: int, *args: Any, **options: Any
    ) -> httpcore.AsyncNetworkStream:
        addresses = await resolve(host, port)
        if not all(map(is_allowed, addresses)):
            raise AttemptFailed("The host's name leads to an address that is not public.")
        while self._stream is None:
            try:
                self._stream = await self._network.connect_tcp(
                    addresses.pop(0), port, timeout=CONNECT_SECONDS
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not addresses:
                    raise
        return self._stream

    async def close(self) -> None:
        """Closes the connection, whatever state it is in."""
        if self._stream is not None:
            await self._stream.aclose()


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, the best one first.

    Nothing can stop a resolver that waits: an attempt that ends leaves its thread behind.

    Raises:
        AttemptFailed: there is none.
    """
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        found = await to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=_RESOLVERS)
    except (OSError, UnicodeError):  # UnicodeError: of a label that is too long
        found = []
    if not found:
        raise AttemptFailed("The host name could not be resolved.")
    return list(dict.fromkeys(str(info[4][0]) for info in found))
