"""PostgreSQL, object storage and Redis as processes, and what can happen to them."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg

from bench.servers import PATIENCE, eventually
from config.dev import SERVICES
from config.dev.service import HOST
from config.runtime.ports import accepts_connections


class Service:
    """One service with its supervisor, which restarts it when it dies.

    Args:
        name: in `config.dev.SERVICES`.
        folder: its data.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder

    def supervisor(self) -> psutil.Process:
        """The process that starts it again."""
        end = [self.name, str(self._folder)]
        found = psutil.process_iter(["cmdline"])
        return next(each for each in found if (each.info["cmdline"] or [])[-2:] == end)

    def main(self) -> psutil.Process:
        """Its own main process."""
        [main] = self.supervisor().children()
        return main

    def wait(self) -> None:
        """Returns when it accepts connections.

        Raises:
            TimeoutError: it does not.
        """

        def serves() -> bool:
            url = urlsplit(os.environ[SERVICES[self.name].variable])
            if self.name != "postgres":
                return accepts_connections(HOST, url.port or 0)
            with contextlib.suppress(psycopg.OperationalError):  # not before it has recovered
                psycopg.connect(os.environ["DATABASE_OWNER_URL"], connect_timeout=5).close()
                return True
            return False

        if not eventually(serves):
            raise TimeoutError(f"{self.name} does not accept connections")

    @contextlib.contextmanager
    def killed(self) -> Iterator[None]:
        """All of its processes are killed; its supervisor restarts it at the end only."""
        supervisor = self.supervisor()
        supervisor.suspend()
        try:
            for process in supervisor.children(recursive=True):
                process.kill()
            yield
        finally:
            supervisor.resume()
            self.wait()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """All of its processes are stopped: connections are accepted, nothing is answered."""
        stopped = []
        try:
            for _ in range(2):  # the first round misses those that are just being made
                for process in self.supervisor().children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.suspend()
                        stopped.append(process)
            yield
        finally:
            for process in stopped:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    @contextlib.contextmanager
    def restarted(self) -> Iterator[None]:
        """It ends as an operator ends it, and its supervisor restarts it at once."""
        main = self.main()
        main.send_signal(SERVICES[self.name].stop_signal)
        main.wait(PATIENCE)
        self.wait()
        yield
