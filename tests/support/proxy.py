"""A TCP proxy in front of a service, which a test can cut, silence and restore."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HOST = "127.0.0.1"
BLOCK = 64 * 1024  # bytes


def address_of(client: int) -> str:
    """An address of this machine for each client: nginx limits what one has under way."""
    return f"127.1.{client // 250 % 250}.{client % 250 + 1}"


def with_206(block: bytes) -> bytes:
    """A part of an object as a 206: `rclone serve s3` sends it, with Content-Range, as a 200."""
    head = block.partition(b"\r\n\r\n")[0]
    if head.startswith(b"HTTP/1.1 200 OK\r\n") and b"\r\nContent-Range: bytes" in head:
        return block.replace(b"200 OK", b"206 Partial Content", 1)
    return block


def failing_after(count: int, instead: bytes = b"") -> Callable[[bytes], bytes]:
    """An `alter` that passes on `count` responses, then replaces them or cuts the connection."""
    responses = 0

    def alter(block: bytes) -> bytes:
        nonlocal responses
        responses += block.startswith(b"HTTP/1.1 ")
        if responses <= count:
            return with_206(block)
        if not instead:
            raise ConnectionResetError
        return instead

    return alter


class Proxy:
    """Forwards connections to the service at `url`.

    Args:
        certificate: a folder with a certificate and its key. With it, the proxy is a TLS server.

    Attributes:
        url: the URL with the proxy's address instead of the service's.
        accepted: how many connections were opened to it.
        forwarded: how many bytes the service has sent through it.
        alter: returns what is forwarded instead of a block; an OSError cuts the connection.
    """

    def __init__(
        self, url: str, alter: Callable[[bytes], bytes] = with_206, certificate: Path | None = None
    ) -> None:
        self.retarget(url)
        self._tls: ssl.SSLContext | None = None
        if certificate:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._tls.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port = 0
        self.accepted = 0
        self.forwarded = 0
        self.alter = self._usual = alter
        self._loop = asyncio.new_event_loop()
        self._flowing = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.restore()
        parts = urlsplit(url)
        self.url = parts._replace(
            scheme="https" if certificate else parts.scheme,
            netloc=parts.netloc.rpartition("@")[0]
            + ("@" if "@" in parts.netloc else "")
            + f"{HOST}:{self._port}",
        ).geturl()

    @property
    def connections(self) -> int:
        """How many connections to the service are open."""
        return len(self._writers) // 2

    @property
    def disturbed(self) -> bool:
        """Whether it does anything but forward."""
        altered = self.alter is not self._usual
        return self._server is None or altered or not self._flowing.is_set()

    def refuse(self) -> None:
        """Cuts every connection and accepts none."""
        self._run(self._close)

    def silence(self) -> None:
        """Accepts everything and forwards nothing."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def retarget(self, url: str) -> None:
        """Forwards connections that are opened from now on to another service."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = parts.hostname, parts.port

    def restore(self) -> None:
        """Forwards everything again, unaltered and on the same port."""
        self.alter = self._usual
        self._run(self._open)

    def stop(self) -> None:
        self.refuse()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(what(), self._loop).result()

    async def _open(self) -> None:
        self._flowing.set()
        if self._server is None:
            self._server = await asyncio.start_server(
                self._connected, HOST, self._port, ssl=self._tls
            )
            self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in self._writers:
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        writers = {writer}
        try:
            there, back = await asyncio.open_connection(*self._target)
            writers.add(back)
            self._writers |= writers
            pumps = [
                asyncio.create_task(self._pump(reader, back, counted=False)),
                asyncio.create_task(self._pump(there, writer, counted=True)),
            ]
            try:
                # When one side closes, both are closed: no service closes only one direction.
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._writers -= writers
            for each in writers:
                each.transport.abort()
            self._tasks.discard(task)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool
    ) -> None:
        while block := await reader.read(BLOCK):
            block = self.alter(block) if counted else block
            await self._flowing.wait()
            writer.write(block)
            await writer.drain()
            self.forwarded += len(block) if counted else 0


@contextmanager
def silent(address: str = HOST, port: int = 0, *, connects: bool = False) -> Iterator[int]:
    """A port that sends nothing. Without `connects`, nobody can connect: its queue is full."""
    with socket.create_server((address, port), backlog=0) as server, ExitStack() as stack:
        for _ in range(0 if connects else 4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield int(server.getsockname()[1])
