"""The URL of a Redis that Sentinel or Cluster manages; redis-py reads that of a single server."""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

SINGLE = ("redis", "rediss", "unix")
SENTINEL = ("redis+sentinel", "rediss+sentinel")
CLUSTER = ("redis+cluster", "rediss+cluster")
PORTS = dict.fromkeys(SENTINEL, 26379) | dict.fromkeys(CLUSTER, 6379)


@dataclass(frozen=True)
class RedisUrl:
    """How to reach it.

    Attributes:
        hosts: names and ports, of the sentinels or of some servers of the cluster.
        master: as the sentinels name it; None for a cluster.
        database: its number; a cluster has only 0.
        sentinel_password: of the sentinels themselves.
    """

    hosts: list[tuple[str, int]]
    tls: bool
    username: str | None
    password: str | None
    master: str | None = None
    database: int = 0
    sentinel_password: str | None = None


def parse(text: str) -> RedisUrl | None:
    """Reads a URL; None if it is that of a single server.

    Raises:
        ValueError: it is not valid. The message may contain a password.
    """
    url = urlsplit(text)
    if url.scheme not in PORTS:
        return None
    login, _, hosts = url.netloc.rpartition("@")
    username, _, password = map(unquote, login.partition(":"))
    named = [(one.hostname, one.port) for one in (urlsplit(f"//{h}") for h in hosts.split(","))]
    master, _, database = url.path.removeprefix("/").partition("/")
    if not all(host for host, _ in named) or (url.scheme in SENTINEL) != bool(master):
        raise ValueError(text)
    return RedisUrl(
        hosts=[(host or "", port or PORTS[url.scheme]) for host, port in named],
        tls=url.scheme.startswith("rediss"),
        username=username or None,
        password=password or None,
        master=unquote(master) or None,
        database=int(database or 0),
        sentinel_password=parse_qs(url.query).get("sentinel_password", [None])[0],
    )
