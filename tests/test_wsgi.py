"""The production entry: it starts nothing, and refuses what would count or answer wrongly."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from config.embedded.service import free_port
from tests.server import ROOT

GRANIAN = [str(Path(sys.executable).parent / "granian"), "--interface", "wsgi"]


def serve(*options: str, **environment: str | None) -> "subprocess.CompletedProcess[str]":
    """Runs the server in the tests' environment, changed by `environment`, for at most 40 s."""
    variables = {**os.environ, **environment}
    command = [*GRANIAN, "--port", str(free_port()), *options, "config.wsgi:application"]
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
    return subprocess.CompletedProcess(command, process.returncode, output)


@pytest.mark.parametrize(
    "name",
    [
        "SECRET_KEY",
        "DATABASE_URL",
        "S3_ENDPOINT_URL",
        "S3_BUCKET",
        "S3_ACCESS_KEY_ID",
        "S3_SECRET_ACCESS_KEY",
    ],
)
def test_wsgi_without_a_required_variable_stops_with_one_line_that_names_it(name: str) -> None:
    done = serve(**{name: None})
    assert done.returncode == 1
    ours = [line for line in done.stdout.splitlines() if not line.startswith("[")]
    assert len(ours) == 1
    assert ours[0].startswith(f"{name} is not set. Set it to ")


def test_wsgi_refuses_more_than_one_process_without_redis() -> None:
    done = serve("--workers", "2", "--blocking-threads", "1", REDIS_URL=None)
    assert done.returncode == 1
    ours = [line for line in done.stdout.splitlines() if not line.startswith("[")]
    assert ours == [
        "REDIS_URL is not set and another process serves already: each would count the rate "
        "limit on its own. Set REDIS_URL, or run one process."
    ]


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("TRUSTED_PROXIES", "two", "TRUSTED_PROXIES takes a whole number, at least 0."),
        ("HTTPS_ONLY", "perhaps", "HTTPS_ONLY takes one of 1, true, yes, on, 0, false, no, off."),
    ],
)
def test_wsgi_names_a_variable_that_cannot_be_used_and_what_it_must_be(
    name: str, value: str, takes: str
) -> None:
    done = serve(**{name: value})
    assert done.returncode == 1
    assert takes in done.stdout
