"""Connections to addresses that were checked; TLS and the Host header have the host's name."""

import asyncio
import contextlib
import socket
import threading
from typing import Any

import httpcore

from events.webhooks.targets import is_allowed

CONNECT_SECONDS = 5.0  # for one address of several


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

    In a thread of its own: nothing can stop a resolver that waits, and a process that ends need not
    wait for a daemon thread.

    Raises:
        AttemptFailed: there is none.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def settle(addresses: list[str]) -> None:
        if not found.done():
            found.set_result(addresses)

    def look_up() -> None:
        addresses: list[str] = []
        # UnicodeError: of a label that is too long.
        with contextlib.suppress(OSError, UnicodeError):
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, addresses)

    threading.Thread(target=look_up, name="resolver", daemon=True).start()
    if addresses := await found:
        return addresses
    raise AttemptFailed("The host name could not be resolved.")
