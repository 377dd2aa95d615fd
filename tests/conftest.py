"""What a test run needs before Django loads: services, and for each worker its own part of them.

PostgreSQL, S3 and Redis come from the embedded stack, on a data folder of the tests' own, so that
a running `make run` is neither needed nor disturbed. Variables that are set lead elsewhere.
The process that distributes the tests starts the services; its workers inherit its environment.
Collecting tests starts nothing and waits for nothing. The fixtures are in `tests/support`.
"""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import psycopg
import pytest

from config.dev.services import provide, started
from config.env import data_dir
from tests.support.redis_service import SERVICES

# A shell without job control starts background processes that ignore Ctrl-C, and so would the
# programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

FOLDER = data_dir() / "tests"
# A test is slow if it says so, is in tests/slow, or uses one of these fixtures.
SLOW_FIXTURES = {
    "browser",
    "chromium",
    "front",
    "four_servers",
    "gate",
    "json_server",
    "nginx",
    "pages",
    "server",
    "service",
}
MOST_CONNECTIONS = "300"  # each worker has several servers, which keep some each
# Options that only show something: no test runs.
SHOWING = ("collectonly", "help", "markers", "showfixtures", "show_fixtures_per_test")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pictures",
        action="store_true",
        help="keep pictures of the pages that browser tests visit, in the tests' data folder",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks slow tests."""
    for item in items:
        used = set(getattr(item, "fixturenames", ()))
        if SLOW_FIXTURES & used or "slow" in item.path.parts:
            item.add_marker("slow")


def pytest_configure(config: pytest.Config) -> None:
    """Prepares the environment, then loads Django and the fixtures, which read it."""
    config.addinivalue_line("markers", "slow: needs a server, nginx or a browser")
    keep_bytecode()
    # What would change responses that the golden files hold.
    for name in ("ALLOWED_HOSTS", "BASE_URL", "LOG_FORMAT", "TRUSTED_PROXIES", "UPGRADE_URL"):
        os.environ.pop(name, None)
    os.environ["HTTPS_ONLY"] = "no"
    os.environ["ROLE"] = "pages"  # `tests.support.client.get` sends requests to the API's process
    os.environ["SECOND_FACTOR"] = "nobody"  # test_second_factor.py has the tests of others
    shows = any(config.getoption(name) for name in SHOWING)
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        use_own_part(int(worker.removeprefix("gw")))
    elif not shows:
        start_services()
    if config.getoption("dist", "no") != "no" and not shows:
        # This process runs no test, and the workers must not inherit the name of the settings:
        # with it, pytest-django would load them before a worker has its own part.
        return
    # Not in pyproject.toml, for the same reason.
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

    import django  # noqa: PLC0415 - the settings read the environment

    django.setup()
    config.pluginmanager.import_plugin("tests.support.fixtures")


def keep_bytecode() -> None:
    """Keeps what Python compiles, here and in the processes that tests start, whatever is set.

    Otherwise each of some hundred processes compiles the project again, and each worker the tests.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def start_services() -> None:
    """Starts what the environment does not name, once no other run uses the same folder."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wait_for_turn(FOLDER / "turn.lock")
    ours = "DATABASE_URL" not in os.environ
    try:
        provide(FOLDER, SERVICES)
    except (OSError, RuntimeError) as exc:
        raise pytest.UsageError(f"{FOLDER}: {exc}") from exc
    if ours:
        configure_postgres()
    collect_static_files()


def collect_static_files() -> None:
    """In a process of its own: it needs Django, which is loaded in the workers only."""
    options = ("--no-input", "--clear", "--verbosity=0")
    subprocess.run([sys.executable, "manage.py", "collectstatic", *options], check=True)


def wait_for_turn(file: Path) -> None:
    """Holds a lock on the file until this process ends: two runs would share a test database."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(  # noqa: T201
            f"Waiting until another test run ends that uses {file.parent}. "
            "DATA_DIR=/path/to/folder runs the tests on another folder.",
            file=sys.stderr,
            flush=True,
        )
        fcntl.flock(handle, fcntl.LOCK_EX)


def configure_postgres() -> None:
    """Tests make databases, and need nothing that survives a power cut: it is twice as quick."""
    url = f"{os.environ['DATABASE_URL']}?user=postgres"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER ROLE documents_owner CREATEDB")
        connection.execute("GRANT CONNECT ON DATABASE postgres TO documents_owner")
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute(f"ALTER SYSTEM SET max_connections = {MOST_CONNECTIONS}")
        connection.execute("SELECT pg_reload_conf()")
        present = connection.execute("SHOW max_connections").fetchone()
    if present != (MOST_CONNECTIONS,):  # PostgreSQL reads it when it starts
        postgres, *_ = started
        postgres.stop()
        postgres.start()


def use_own_part(worker: int) -> None:
    """Gives a worker a Redis database and a bucket.

    pytest-django gives it a test database.
    """
    redis = urlsplit(os.environ["REDIS_URL"])
    os.environ["REDIS_URL"] = redis._replace(path=f"/{worker + 1}").geturl()
    os.environ["S3_BUCKET"] += f"-gw{worker}"
    store = boto3.client(
        "s3",
        endpoint_url=os.environ["S3_ENDPOINT_URL"],
        aws_access_key_id=os.environ["S3_ACCESS_KEY_ID"],
        aws_secret_access_key=os.environ["S3_SECRET_ACCESS_KEY"],
        region_name=os.environ.get("S3_REGION", "us-east-1"),
    )
    if os.environ["S3_BUCKET"] not in {b["Name"] for b in store.list_buckets()["Buckets"]}:
        store.create_bucket(Bucket=os.environ["S3_BUCKET"])
