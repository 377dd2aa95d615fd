"""The WSGI entry point: it starts nothing, and refuses variables that it cannot use."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from config.checks import environment_errors
from config.runtime.ports import free_port
from tests.config.test_roles import empty  # noqa: F401 - a fixture
from tests.support import server as servers
from tests.support.database import url_of
from tests.support.proxy import Proxy
from tests.support.server import ROOT, Server, eventually

GRANIAN = [str(Path(sys.executable).parent / "granian"), "--interface", "wsgi"]


def refusal(**environment: str | None) -> str:
    """The one line with which the server ends at its start.

    It has the tests' environment, changed by `environment`.
    """
    variables = {**os.environ, **environment}
    command = [*GRANIAN, "--port", str(free_port()), "config.wsgi:application"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={name: value for name, value in variables.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=40)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        pytest.fail(f"it serves: {output}")
    assert process.returncode == 1
    [line] = [line for line in output.splitlines() if not line.startswith("[")]
    return line


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("SECRET_KEY", None, "SECRET_KEY is not set. Set it to "),
        ("DATABASE_URL", None, "DATABASE_URL is not set. Set it to "),
        ("TRUSTED_PROXIES", "two", "TRUSTED_PROXIES must be a whole number of at least 0."),
        ("HTTPS_ONLY", "perhaps", "HTTPS_ONLY must be one of 1, true, yes, on, 0, false, no, off."),
        (
            "REDIS_URL",
            "redis+sentinel://:secret@10.0.0.1:26379/counters/0",
            "REDIS_URL must begin with one of redis://, rediss://, memory://.",
        ),
        ("SECRET_KEY_FALLBACKS", "secret", "SECRET_KEY_FALLBACKS can be guessed. Set it to "),
        ("ALLOWED_HOSTS", "api.example.com,*", "ALLOWED_HOSTS accepts every host. Set it to "),
    ],
)
def test_wsgi_ends_with_one_line_that_names_a_variable_that_it_cannot_use(
    name: str, value: str | None, line: str
) -> None:
    said = refusal(**{name: value})
    assert said == line or (line.endswith(" Set it to ") and said.startswith(line))


def test_secret_key_that_is_short_or_of_few_characters_or_an_example_can_be_guessed(
    settings: Any,
) -> None:
    for key in ("x" * 50, "0123456789" * 4, "django-insecure-" + "0123456789" * 5):
        settings.SECRET_KEY = key
        assert [each.id for each in environment_errors()] == ["config.E002"], key


def test_wsgi_without_static_files_ends_with_the_line_that_collects_them(tmp_path: Path) -> None:
    folder = tmp_path / "static files"
    said = refusal(STATIC_ROOT=str(folder))
    assert said.startswith(f"{folder} has no static files. Run: cd ")
    bare = {"PATH": os.environ["PATH"]}
    subprocess.run(["sh", "-c", said.partition("Run: ")[2]], env=bare, check=True)
    assert (folder / "staticfiles.json").exists()


def test_manage_py_in_production_collects_static_files_where_the_server_looks_for_them(
    tmp_path: Path,
) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "STATIC_ROOT"}
    done = subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--no-input", "--dry-run", "-v", "2"],
        cwd=ROOT,
        env={**variables, "DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"static files copied to '{ROOT}/static'" in done.stdout
    assert not (tmp_path / "data").exists()


def test_wsgi_before_migrate_ends_with_one_line_that_says_so(
    empty: str,  # noqa: F811 - the fixture
) -> None:
    line = refusal(DATABASE_URL=url_of(empty, "DATABASE_URL"))
    assert line.startswith("The database lacks the migration ")
    assert line.endswith(" more. Run: python manage.py migrate")


def test_wsgi_starts_while_the_database_is_out_of_reach(
    transactional_db: None, tmp_path: Path
) -> None:
    proxy = Proxy(servers.test_database_url())
    proxy.refuse()
    server = Server(tmp_path, DATABASE_URL=proxy.url)
    try:
        assert eventually(lambda: server.listens() and server.get("/me").status == 401)
        raw = "dtd_" + "A" * 40
        assert server.get("/me", raw).status == 503
        proxy.restore()
        assert eventually(lambda: server.get("/me", raw).status == 401)
    finally:
        server.stop()
        proxy.stop()


SIGNALS = """
import os
from wsgiref.util import setup_testing_defaults
from config.wsgi import application
from django.core.signals import request_finished, request_started

def note(signal, **kwargs):
    seen.append("started" if signal is request_started else "finished")

request_started.connect(note)
request_finished.connect(note)
for path in ("/api/v1/me", "/admin/login/"):
    seen = []
    environ = {"PATH_INFO": path, "HTTP_HOST": "localhost"}
    setup_testing_defaults(environ)
    list(application(environ, lambda status, headers: None))
    print(path, *seen, flush=True)
os._exit(0)
"""


def test_wsgi_sends_django_s_signals_for_the_api_as_for_pages(django_db_setup: None) -> None:
    """Tools that monitor requests depend on them."""
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": servers.test_database_url()},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        "/api/v1/me started finished",
        "/admin/login/ started finished",
    ], done.stderr
