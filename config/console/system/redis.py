"""Redis' facts: whether it counts, and how long it will."""

from typing import Any

from django.conf import settings

from config.console.system import Fact

FULL = 0.9  # of maxmemory


def read_redis() -> list[Fact]:
    """Whether it writes, and what keeps it from that."""
    if settings.COUNT_IN_PROCESS:
        return [Fact("Redis", "none: each process counts for itself")]
    from redis import Redis, RedisError  # noqa: PLC0415 - few commands need it

    seconds = settings.REDIS_TIMEOUT
    redis = Redis.from_url(
        settings.REDIS_URL, socket_timeout=seconds, socket_connect_timeout=seconds, protocol=2
    )
    info: Any = redis.info()
    refusal = ""
    try:
        redis.set("doctor", 1, ex=1)
    except RedisError as exc:
        refusal = f"refused: {exc}"
    used, most, policy = info["used_memory"], info["maxmemory"], info["maxmemory_policy"]
    share = used / most if most else 0.0
    limit = f"{most >> 20:,} MiB" if most else "no limit"
    full = policy == "noeviction" and share > FULL
    replica = info["role"] != "master"
    return [
        Fact("Version", info["redis_version"]),
        Fact(
            "Role",
            "a replica, which refuses to count" if replica else "master",
            "bad" if replica else "ok",
            "Let REDIS_URL lead to the master, or: redis-cli REPLICAOF NO ONE",
        ),
        Fact(
            "Memory",
            f"{used >> 20:,} MiB used, {limit}, {policy}" + (": full" if full else ""),
            "bad" if full and share >= 1 else "warn" if full else "ok",
            "Raise maxmemory, or set maxmemory-policy to volatile-ttl",
        ),
        Fact(
            "Counts",
            refusal or "accepted",
            "bad" if refusal else "ok",
            "Requests pass uncounted until Redis accepts this",
        ),
    ]
