"""The server that downloads come from."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.launch import granian, nginx, running
from config.embedded.service import HOST, free_port


@contextlib.contextmanager
def server(threads: int, *, handoff: bool) -> Iterator[tuple[str, psutil.Process]]:
    """A server with one worker; through nginx with hand-off. Yields its address and the worker."""
    with contextlib.ExitStack() as started:
        port = free_port()
        environment = {"GRANIAN_BLOCKING_THREADS": str(threads)}
        environment |= {"NGINX_HANDOFF": "yes", "TRUSTED_PROXIES": "1"} if handoff else {}
        command = granian("config.wsgi:application", port, workers=1, threads=threads)
        process = started.enter_context(running(command, port, environment))
        (worker,) = psutil.Process(process.pid).children()
        if handoff:
            folder = Path(started.enter_context(tempfile.TemporaryDirectory()))
            app, port = port, free_port()
            started.enter_context(nginx(folder, port, app))
        yield f"http://{HOST}:{port}", worker
