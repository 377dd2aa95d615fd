"""manage.py migrate beside others who use the tables."""

import subprocess
import time

import psycopg

from tests.config.test_roles import command, empty, manage  # noqa: F401 - a fixture
from tests.support.database import url_of


def test_migrate_does_not_make_readers_wait_behind_one_that_reads_for_long(
    empty: str,  # noqa: F811 - the fixture
) -> None:
    manage(empty, "migrate", "auth", "0001", owner=True).check_returncode()
    url = url_of(empty)
    with psycopg.connect(url) as backup, psycopg.connect(url, autocommit=True) as reader:
        backup.execute("SELECT FROM auth_permission")  # of which auth.0002 changes a column
        migrate = subprocess.Popen(**command(empty, "migrate", owner=True), stderr=subprocess.PIPE)
        assert migrate.stderr is not None
        for _ in range(2):  # it has given up a lock twice
            while "Trying again" not in migrate.stderr.readline():
                assert migrate.poll() is None
        waits = []
        until = time.monotonic() + 5  # more than a round
        while time.monotonic() < until:
            began = time.monotonic()
            reader.execute("SELECT FROM auth_permission")
            waits.append(time.monotonic() - began)
        assert max(waits) < 2.5
        assert migrate.poll() is None
        backup.rollback()
        assert migrate.communicate(timeout=120)[1].count("Error") == 0
        assert migrate.returncode == 0
        done = reader.execute("SELECT FROM django_migrations WHERE app = 'auth'")
        assert done.rowcount > 1
