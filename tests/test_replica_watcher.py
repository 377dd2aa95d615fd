"""What a process knows about the replica: how far it is behind, and whether it may be used."""

import time
from collections.abc import Iterator

import pytest
from django.db import connections

from config.replica import connection as replicas
from config.replica.watcher import Watcher
from tests.database import execute
from tests.replica import Replica
from tests.server import eventually
from tests.factories import Tenant


class Looking(Watcher):
    """A watcher without its thread."""

    def __init__(self) -> None:
        super().__init__()
        self.primary = connections.create_connection("default")
        self.replica = replicas.create()

    def usable(self) -> bool:
        """Looks once; returns whether the replica may be used."""
        self.look(self.primary, self.replica)
        return self.knowledge.usable


@pytest.fixture
def looking(replica: Replica, settings) -> Iterator[Looking]:
    from config.settings import _database
    settings.DATABASE_REPLICA = _database(replica.url)
    looking = Looking()
    yield looking
    looking.primary.close()
    looking.replica.close()


def test_replica_that_streams_is_usable(looking: Looking) -> None:
    t=time.time()
    ok= eventually(looking.usable)
    print(time.time()-t, looking.knowledge, looking._moments[-1], looking.knowledge.lag)
    t=time.perf_counter(); c=time.process_time()
    for i in range(200): looking.usable()
    print((time.perf_counter()-t)/200*1e3, 'ms', (time.process_time()-c)/200*1e3)
    assert ok
    assert 0
