"""The services of a laptop and the tests: started by one process, and gone with it."""

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import psycopg
import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from config.connections import as_role, fetch
from config.dev.services import Postgres
from events import feed
from events.models import Event, EventType, Generation
from tests.support.factories import uid
from tests.support.processes import all_gone, kill_group, manage, start, using

WITH_SERVICES = ("-m", "config.dev")
USER = """
import os, sys
from config import env
from config.dev.services import provide
provide(env.data_dir())
print(os.environ["DATABASE_URL"], os.environ["DATABASE_OWNER_URL"], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder that does not exist yet; nothing uses it after the test.

    Not below pytest's own folder: each run closes that one to other users, and as root the
    database is one.
    """
    with tempfile.TemporaryDirectory() as parent:
        yield Path(parent) / "data"
        for process in processes_in(Path(parent)):
            process.kill()
        assert all_gone(Path(parent)), using(Path(parent))


def processes_in(folder: Path) -> list[psutil.Process]:
    """Those whose command line names the folder."""
    every = psutil.process_iter(["cmdline"])
    return [each for each in every if str(folder) in " ".join(each.info["cmdline"] or [])]


def test_event_is_shown_whose_number_of_a_transaction_was_given_before_a_crash(
    folder: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    """PostgreSQL forgets the numbers of transactions that were rolled back just before it."""
    folder.mkdir()

    def add() -> int:
        fields = {"type": "document.sent", "document_id": uid(1), "status": "SENT"}
        with transaction.atomic():
            number: int = fetch("SELECT pg_current_xact_id()::text::bigint", [])[0][0]
            Event.objects.create(transaction=number, uuid=uuid4(), workspace_id=uid(2), **fields)
        return number

    @contextlib.contextmanager
    def started() -> Iterator[None]:
        service = Postgres(folder / "postgres")
        with (service.data / "postgresql.conf").open("a") as configuration:
            configuration.write("wal_writer_delay = 10s\n")
        service.start()
        with django_db_blocker.unblock(), as_role(service.variables["DATABASE_OWNER_URL"]):
            connection.settings_dict["NAME"] = "documents"  # not that of the tests
            yield
            for process in processes_in(folder):
                process.kill()
        service.process.wait()

    with started():
        with connection.schema_editor() as editor:
            editor.create_model(Event)
            editor.create_model(Generation)
        add()
        for _ in range(400):
            with transaction.atomic():
                [(last,)] = fetch("SELECT pg_current_xact_id()::text::bigint", [])
                transaction.set_rollback(True)
        after = feed.end_of_feed(uid(2)).next
    with started():
        assert add() < last
        assert len(feed.page(uid(2), EventType.values, after, 10).events) == 1


def test_services_write_to_the_data_folder_only_and_all_of_it_is_for_the_owner_only(
    folder: Path, tmp_path: Path
) -> None:
    """PostgreSQL, another user, may pass through for root."""
    process = start(sys.executable, "-c", USER, folder=folder, HOME=str(tmp_path))
    assert process.stdout is not None
    urls = process.stdout.readline().split()
    assert {path.name for path in folder.iterdir()} == {"lock", "postgres", "s3", "secret_key"}
    assert list(tmp_path.iterdir()) == []
    for path in (folder, *folder.rglob("*")):
        allowed = 0o701 if path == folder and os.geteuid() == 0 else 0o700
        if not path.is_symlink():
            assert not stat.S_IMODE(path.lstat().st_mode) & ~allowed, path
    password = (folder / "s3" / "password").read_text()
    assert not [each for each in processes_in(folder) if password in " ".join(each.cmdline())]
    for url, creates in zip(urls, (False, True), strict=True):
        with psycopg.connect(url) as connection:
            query = (
                "SELECT rolsuper, has_schema_privilege('public', 'CREATE') FROM pg_roles"
                " WHERE rolname = current_user"
            )
            assert connection.execute(query).fetchone() == (False, creates)
    kill_group(process)


def test_data_folder_that_cannot_be_used_is_one_clear_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (folder / "postgres" / "data").mkdir(parents=True)  # a cluster without its files
    for place, why in (
        (tmp_path / "file", "[Errno 17] File exists"),
        (folder, f"postgres ended with status 2; see {folder}/postgres/postgres.log"),
    ):
        done = manage("check", folder=place, program=WITH_SERVICES)
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"The data folder {place} cannot be used: {why}")
        assert line.endswith("DATA_DIR=/path/to/folder")


def test_manage_py_names_a_variable_that_is_missing_and_starts_nothing(folder: Path) -> None:
    done = manage("check", folder=folder)
    assert done.returncode != 0
    assert "settings: (config.E001) DATABASE_URL is not set.\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert not folder.exists()
