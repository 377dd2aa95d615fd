"""The embedded stack: started by one process, and gone with it."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import psutil
import psycopg
import pytest

from config.dev.services import Redis
from tests.support.processes import all_gone, kill_group, manage, start, using
from tests.support.server import ROOT

WITH_SERVICES = ("-m", "config.dev")
USER = """
import os, sys
from config import dev as embedded
embedded.provide(os.environ, embedded.data_dir(os.environ))
names = ("DATABASE_URL", "DATABASE_OWNER_URL", "S3_ENDPOINT_URL")
print(*(os.environ[name] for name in names), flush=True)
sys.stdin.read()
"""


class User:
    """A process that uses the stack in a folder until it is killed, at the test's end at last."""

    started: ClassVar[list["User"]] = []

    def __init__(self, folder: Path, **environment: str) -> None:
        self.started.append(self)
        self.process = start(sys.executable, "-c", USER, folder=folder, **environment)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("postgresql://"), line + self.process.stdout.read()
        self.database, self.owner, self.store = line.split()

    def kill(self) -> None:
        kill_group(self.process)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder that does not exist yet; nothing uses it after the test.

    Not below pytest's own folder: each run closes that one to other users, and as root the
    database is one.
    """
    with tempfile.TemporaryDirectory() as parent:
        yield Path(parent) / "data"
        for user in User.started:
            user.kill()
        User.started.clear()
        assert all_gone(Path(parent)), using(Path(parent))


def find(folder: Path, text: str) -> psutil.Process:
    """The one process whose command line holds both the folder and a text."""
    (found,) = [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(folder) in (line := " ".join(process.info["cmdline"] or [])) and text in line
    ]
    return found


def one(url: str) -> bool:
    """Whether the database answers."""
    try:
        with psycopg.connect(url, connect_timeout=2) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def test_embedded_stack_is_one_process_s_and_ends_with_it(folder: Path) -> None:
    first = User(folder)
    done = manage("check", folder=folder, program=WITH_SERVICES)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Another process uses the data folder {folder}, perhaps make run")
    assert one(first.database)
    first.kill()
    assert all_gone(folder), using(folder)


def test_embedded_stack_keeps_what_is_committed_when_everything_is_killed(folder: Path) -> None:
    user = User(folder)
    with psycopg.connect(user.owner) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    for process in psutil.process_iter(["cmdline"]):
        if str(folder) in " ".join(process.info["cmdline"] or []):
            process.kill()
    user.kill()
    assert all_gone(folder), using(folder)

    again = User(folder)
    with psycopg.connect(again.owner) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_embedded_stack_writes_to_the_data_folder_only_and_all_of_it_is_for_the_owner_only(
    folder: Path, tmp_path: Path
) -> None:
    """PostgreSQL, another user, may pass through for root."""
    user = User(folder, HOME=str(tmp_path))
    written = {path.name for path in folder.iterdir()}
    assert written == {"lock", "postgres", "s3", "secret_key"}
    assert list(tmp_path.iterdir()) == []
    passes = 0o011 if os.geteuid() == 0 else 0
    for path in (folder, *folder.rglob("*")):
        allowed = 0o700 | passes if path in (folder, folder / "postgres") else 0o700
        if not path.is_symlink():
            assert not stat.S_IMODE(path.lstat().st_mode) & ~allowed, path
    keys = [word for word in find(folder, "rclone serve").cmdline() if "auth" in word]
    assert keys == []
    for url, creates in ((user.database, False), (user.owner, True)):
        with psycopg.connect(url) as connection:
            query = (
                "SELECT rolsuper, has_schema_privilege('public', 'CREATE') FROM pg_roles"
                " WHERE rolname = current_user"
            )
            assert connection.execute(query).fetchone() == (False, creates)


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_embedded_data_folder_that_cannot_be_written_is_one_clear_line(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    done = manage("check", folder=tmp_path / place, program=WITH_SERVICES)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"The data folder {tmp_path / place} cannot be used: ")
    assert line.endswith("Choose another one with DATA_DIR=/path/to/folder.")


def test_embedded_service_that_cannot_start_is_one_clear_line(folder: Path) -> None:
    cluster = folder / "postgres" / "cluster"
    (cluster / "data").mkdir(parents=True)  # a cluster without its files
    done = manage("check", folder=folder, program=WITH_SERVICES)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("postgres did not start: ")
    assert line.endswith(f"Its log is in {folder / 'postgres'}.")


MISSING = "import config.settings; print(*(each.name for each in config.env.missing()))"


def test_settings_import_names_what_is_missing_and_starts_nothing(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MISSING],
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert set(done.stdout.split()) == {
        "SECRET_KEY",
        "DATABASE_URL",
        "REDIS_URL",
        "S3_ENDPOINT_URL",
        "S3_BUCKET",
        "S3_ACCESS_KEY_ID",
        "S3_SECRET_ACCESS_KEY",
    }, done.stderr
    assert not folder.exists()


def test_embedded_stack_runs_as_long_as_a_command_that_needs_it(folder: Path) -> None:
    done = manage("migrate", folder=folder, program=WITH_SERVICES)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Applying documents.0001_initial" in done.stdout
    assert all_gone(folder), using(folder)


def test_variable_that_is_not_valid_is_one_clear_line(folder: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(folder), "TRUSTED_PROXIES": "two"}
    for program in (["manage.py"], WITH_SERVICES):
        done = subprocess.run(
            [sys.executable, *program, "check"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.stderr == "TRUSTED_PROXIES must be a whole number.\n"
        assert done.returncode == 1


def test_manage_py_without_a_variable_names_it_in_one_line_and_starts_nothing(
    folder: Path,
) -> None:
    for command in ("check", "migrate", "verify_audit"):
        done = manage(command, folder=folder)
        assert done.returncode != 0
        assert "?: (config.E001) DATABASE_URL is not set.\n" in done.stderr
        assert "Traceback" not in done.stderr
    assert not folder.exists()


def test_embedded_redis_says_how_to_install_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="apt-get install redis-server"):
        Redis(tmp_path).command()
