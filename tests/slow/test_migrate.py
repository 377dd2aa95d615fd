"""manage.py migrate beside others who use the tables."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import psycopg

from tests.config.test_roles import command, empty, manage  # noqa: F401 - a fixture
from tests.slow import test_upgrade as release_1
from tests.support.database import new_database, url_of
from tests.support.server import Server, running


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


READER_SECONDS = 20
LOCKING = {"DJANGO_SETTINGS_MODULE": "tests.support.locking.settings"}


def test_no_request_waits_two_seconds_for_a_migration_behind_a_long_reader(tmp_path: Path) -> None:
    with new_database("locking") as name:
        release_1.load(name)
        release_1.migrate(name)
        url = url_of(name, "DATABASE_URL")
        variables = {**release_1.VARIABLES, "DATABASE_URL": url}
        keys = sorted({each["key"] for each in release_1.RELEASE["responses"]})
        with (
            running(Server(tmp_path, **variables)) as server,
            psycopg.connect(url_of(name)) as reader,
            ThreadPoolExecutor() as threads,
        ):
            working = [
                raw
                for raw in (release_1.RELEASE["keys"][key] for key in keys)
                if server.get("/documents", raw).status == 200
            ]
            reader.execute("SELECT FROM documents_document")
            until = time.monotonic() + READER_SECONDS
            options = command(name, "migrate", owner=True, **LOCKING)
            migrate = subprocess.Popen(**options, stderr=subprocess.PIPE)

            def load(path: str) -> list[tuple[int, float]]:
                found = []
                while time.monotonic() < until:
                    began = time.monotonic()
                    status = server.get(path, working[0]).status
                    found.append((status, time.monotonic() - began))
                    time.sleep(0.7)  # three of these are fewer than 300 a minute
                return found

            paths = ("/documents", "/me", "/documents?limit=1")
            found = [each for some in threads.map(load, paths) for each in some]
            assert migrate.poll() is None
            reader.rollback()
            output = migrate.communicate(timeout=60)[1]
        assert migrate.returncode == 0, output
        assert output.count("Trying again") >= 4
        assert {status for status, _ in found} == {200}
        assert 0.5 < max(seconds for _, seconds in found) < 2  # some have waited, none for long


ADD_DOCUMENT = """
    WITH file AS (
        INSERT INTO documents_storedfile (object_key, size, sha256, created_at)
        VALUES (gen_random_uuid(), 1, '', now()) RETURNING id
    )
    INSERT INTO documents_document (id, workspace_id, title, status, file_name, page_count,
        file_size, signing_order, created_at, original_id)
    SELECT %(id)s, %(workspace)s, 'Lease', 'SENT', 'lease.pdf', 1, 1, 'PARALLEL', now(), id
    FROM file
"""


def test_documents_are_written_and_imported_while_the_search_is_prepared(
    empty: str,  # noqa: F811 - the fixture
) -> None:
    """The role that serves needs its privileges before the end of `migrate`, and its locks."""
    for words in (["audit"], ["documents", "0002_without_pgtrigger"]):
        manage(empty, "migrate", *words, owner=True).check_returncode()
    sql = manage(empty, "sqlmigrate", "documents", "0003_search", owner=True).stdout
    workspace, first, last = uuid4(), UUID(int=1), UUID(int=2)
    with (
        psycopg.connect(url_of(empty), autocommit=True) as owner,
        psycopg.connect(url_of(empty, "DATABASE_URL")) as importing,
    ):
        owner.execute(
            "INSERT INTO workspaces_workspace (id, name, plan, suspended, created_at)"
            " VALUES (%s, 'Acme', 'PRO', false, now())",
            [workspace],
        )
        for id in (first, last):
            importing.execute(ADD_DOCUMENT, {"id": id, "workspace": workspace})
        importing.commit()
        owner.execute(sql.encode())
        for id in (uuid4(), uuid4()):
            importing.execute(ADD_DOCUMENT, {"id": id, "workspace": workspace})
        importing.execute("UPDATE documents_document SET title = 'Offer' WHERE id = %s", [id])
        importing.execute("DELETE FROM documents_document WHERE id = %s", [id])
        importing.commit()
        manage(empty, "migrate", "documents", "0003", "--fake", owner=True).check_returncode()
        # The import has the last document, and will need the first.
        lock = "SELECT FROM documents_document WHERE id = %s FOR UPDATE"
        importing.execute(lock, [last])
        migrate = subprocess.Popen(
            **command(empty, "migrate", "documents", owner=True),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert migrate.stdout is not None
        printed = ""
        while "waiting for a document that is locked" not in printed:
            line = migrate.stdout.readline()
            assert line, printed
            printed += line
        for _ in range(20):
            importing.execute(lock, [first])
            importing.execute("UPDATE documents_document SET title = 'New' WHERE id = %s", [first])
            time.sleep(0.1)
        importing.commit()
        rest, _ = migrate.communicate(timeout=120)
        assert migrate.returncode == 0, printed + rest
        found = owner.execute("SELECT word FROM documents_titleword ORDER BY word").fetchall()
        assert [word for (word,) in found] == ["lease", "lease", "new"]
