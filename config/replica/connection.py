"""Connections to the replica."""

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from config.breaker import Breaker
from config.postgresql.base import DatabaseWrapper

# Seconds of a statement: the primary is asked afterwards, and a slot waits meanwhile.
SECONDS = 0.5


class ReplicaConnection(DatabaseWrapper):
    """A connection with a circuit breaker of its own, so that the replica never stops the primary.

    One failure opens it, since the primary can do the same. The watcher closes it.
    """

    breaker = Breaker("replica", failures=1)
    seconds = SECONDS


def create() -> ReplicaConnection | None:
    """A connection, which connects when it is first used; None without DATABASE_REPLICA_URL."""
    if not settings.DATABASE_REPLICA:
        return None
    parameters = {**connections.settings[DEFAULT_DB_ALIAS], **settings.DATABASE_REPLICA}
    return ReplicaConnection(parameters, "replica")
