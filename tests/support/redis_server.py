"""A real redis-server of the test's own, with a password."""

import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

from redis import Redis, RedisError

from config.ports import free_port
from tests.support.proxy import HOST
from tests.support.redis_service import redis_program
from tests.support.server import eventually

PASSWORD = "p@ss/word"


class RedisServer:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.port = free_port()
        file = folder / "redis.conf"
        file.write_text(
            f'bind {HOST}\nport {self.port}\ndir {folder}\nsave ""\nrequirepass "{PASSWORD}"\n'
        )
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [redis_program("redis-server"), file], stdout=log, stderr=log
            )
        self.url = f"redis://:{quote(PASSWORD, safe='')}@{HOST}:{self.port}/0"
        self._client = Redis(host=HOST, port=self.port, password=PASSWORD, decode_responses=True)
        assert eventually(self._responds), (folder / "log").read_text()

    def call(self, *command: Any) -> Any:
        return self._client.execute_command(*command)  # type: ignore[no-untyped-call]

    def _responds(self) -> bool:
        try:
            return bool(self.call("PING"))
        except RedisError:
            return False

    def kill(self) -> None:
        self._client.close()
        self._process.kill()
        self._process.wait()
