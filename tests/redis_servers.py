"""Redis servers of a test's own: a cluster, and masters with a replica."""

import contextlib
import signal
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from redis import Redis, RedisError
from redis.crc import key_slot

from config.embedded.redis import program
from config.ports import free_port
from tests.proxy import HOST, Proxy
from tests.server import eventually

PASSWORD = "p@ss/word"
MASTER = "counters"
SLOTS = 16384
FAILED_AFTER = 500  # milliseconds without a response until a server is replaced
BOTH = f'requirepass "{PASSWORD}"\nmasterauth "{PASSWORD}"\nrepl-diskless-sync-delay 0\n'


def port_of_two() -> int:
    """A free port; the one 10,000 above it is free too, where a cluster's servers talk."""
    while True:
        port = free_port()
        if port < 22_000:  # clients get ports from 32,768 on
            with contextlib.suppress(OSError), socket.socket() as probe:
                probe.bind((HOST, port + 10_000))
                return port


class RedisServer:
    """One redis-server process."""

    def __init__(self, folder: Path, options: str, *words: str) -> None:
        folder.mkdir()
        self.port = port_of_two()
        file = folder / "redis.conf"
        file.write_text(f'bind {HOST}\nport {self.port}\ndir {folder}\nsave ""\n{options}')
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen([program(), file, *words], stdout=log, stderr=log)
        self.url = f"redis://:{quote(PASSWORD, safe='')}@{HOST}:{self.port}/0"
        self._client = Redis(host=HOST, port=self.port, password=PASSWORD, decode_responses=True)
        assert eventually(self._responds), (folder / "log").read_text()

    def call(self, *command: Any) -> Any:
        """The response to a command."""
        return self._client.execute_command(*command)  # type: ignore[no-untyped-call]

    def _responds(self) -> bool:
        try:
            return bool(self.call("PING"))
        except RedisError:
            return False

    def follows(self) -> bool:
        """Whether it is a replica that has what its master has."""
        return bool(self.call("INFO", "replication").get("master_link_status") == "up")

    def offset(self) -> int:
        """How much of what is replicated it has."""
        return int(self.call("INFO", "replication")["master_repl_offset"])

    def kill(self) -> None:
        """Ends it without notice."""
        self._client.close()
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """From now on it accepts connections and is silent."""
        self._process.send_signal(signal.SIGSTOP)


def started(stopping: ExitStack, *arguments: Any) -> RedisServer:
    """A server that runs until the test ends."""
    server = RedisServer(*arguments)
    stopping.callback(server.kill)
    return server


def master_and_replica(folder: Path, stopping: ExitStack) -> tuple[RedisServer, RedisServer]:
    """A master, and a replica that has what it has."""
    master = started(stopping, folder / "master", BOTH)
    follows = f"{BOTH}replicaof {HOST} {master.port}\n"
    replica = started(stopping, folder / "replica", follows)
    assert eventually(replica.follows)
    return master, replica


def swap_roles(master: RedisServer, replica: RedisServer) -> None:
    """Connections to the former master stay open; it refuses to count."""
    assert eventually(lambda: replica.offset() == master.offset())
    replica.call("REPLICAOF", "NO", "ONE")
    master.call("REPLICAOF", HOST, replica.port)


class Cluster:
    """Three masters, and a replica of the first one.

    Attributes:
        url: for REDIS_URL.
        all: the servers, the masters first.
    """

    def __init__(self, folder: Path, stopping: ExitStack) -> None:
        options = f"{BOTH}cluster-enabled yes\ncluster-node-timeout {FAILED_AFTER}\n"
        self.all = [started(stopping, folder / str(number), options) for number in range(4)]
        *masters, replica = self.all
        for number, master in enumerate(masters):
            slots = range(number * SLOTS // 3, (number + 1) * SLOTS // 3)
            master.call("CLUSTER", "ADDSLOTS", *slots)
            master.call("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for other in self.all[1:]:
            other.call("CLUSTER", "MEET", HOST, self.all[0].port)
        assert eventually(self._is_complete)
        self.ids = [each.call("CLUSTER", "MYID") for each in masters]
        replica.call("CLUSTER", "REPLICATE", self.ids[0])
        assert eventually(replica.follows)
        assert eventually(self._is_complete)
        hosts = ",".join(f"{HOST}:{each.port}" for each in masters)
        self.url = f"redis+cluster://:{quote(PASSWORD, safe='')}@{hosts}"

    def _is_complete(self) -> bool:
        states = [each.call("CLUSTER", "INFO") for each in self.all]
        return all("cluster_state:ok" in s and "cluster_known_nodes:4" in s for s in states)

    def lose_master(self) -> None:
        """Kills the master that has a replica."""
        self.all[0].kill()

    def has_lost(self, name: str) -> bool:
        """Whether `lose_master` takes this counter's server."""
        return key_slot(name.encode()) < SLOTS // 3

    def move(self, name: str) -> None:
        """Moves the slot of a counter that is not there yet to the next master."""
        slot = key_slot(name.encode())
        owner = slot * 3 // SLOTS
        for master in self.all[:3]:
            master.call("CLUSTER", "SETSLOT", slot, "NODE", self.ids[(owner + 1) % 3])


class Watched:
    """A master and a replica, and a sentinel, which has the same password.

    Attributes:
        url: for REDIS_URL; it also names a sentinel that does not run.
        all: the servers.
    """

    def __init__(self, folder: Path, stopping: ExitStack) -> None:
        master, replica = master_and_replica(folder, stopping)
        watching = (
            f'requirepass "{PASSWORD}"\n'
            f"sentinel monitor {MASTER} {HOST} {master.port} 1\n"
            f'sentinel auth-pass {MASTER} "{PASSWORD}"\n'
            f"sentinel down-after-milliseconds {MASTER} {FAILED_AFTER}\n"
            f"sentinel failover-timeout {MASTER} 2000\n"
        )
        sentinel = started(stopping, folder / "sentinel", watching, "--sentinel")
        assert eventually(lambda: sentinel.call("SENTINEL", "SLAVES", MASTER))
        self.all = [master, replica, sentinel]
        password = quote(PASSWORD, safe="")
        self.url = (
            f"redis+sentinel://:{password}@{HOST}:{free_port()},{HOST}:{sentinel.port}/{MASTER}/0"
            f"?sentinel_password={password}"
        )

    def lose_master(self) -> None:
        """Kills the master."""
        self.all[0].kill()

    def has_lost(self, name: str) -> bool:
        """Whether `lose_master` takes this counter's server: there is one."""
        return True

    def fail_over(self) -> None:
        """Both change roles, and the sentinel names the new master."""
        master, replica, sentinel = self.all
        swap_roles(master, replica)
        sentinel.call("SENTINEL", "REMOVE", MASTER)
        sentinel.call("SENTINEL", "MONITOR", MASTER, HOST, replica.port, 1)


class Addressed:
    """A master and a replica behind one address, such as a virtual IP.

    Attributes:
        address: leads to the master.
        url: for REDIS_URL.
        all: the servers.
    """

    def __init__(self, folder: Path, stopping: ExitStack) -> None:
        master, replica = master_and_replica(folder, stopping)
        self.all = [master, replica]
        self.address = Proxy(master.url)
        stopping.callback(self.address.stop)
        self.url = self.address.url

    def fail_over(self) -> None:
        """They change roles, and the address leads to the new master."""
        master, replica = self.all
        swap_roles(master, replica)
        self.address.retarget(replica.url)
