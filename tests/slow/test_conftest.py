"""A run of the tests beside another one on the same data folder."""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import bare_environment
from tests.support.server import ROOT


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Path]:
    """A data folder that a test run of process 42 uses."""
    (tmp_path / "tests").mkdir()
    with (tmp_path / "tests" / "turn.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("42")
        lock.flush()
        yield tmp_path


def begin(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """Starts a test run of one file on the folder, as from a terminal."""
    variables = bare_environment(folder)
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *options, "tests/workspaces/test_me.py"],
        cwd=ROOT,
        env={name: variables[name] for name in variables if not name.startswith("PYTEST_")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_collect_only_starts_nothing_and_waits_for_nothing(busy: Path, options: list[str]) -> None:
    out, err = begin(busy, "--collect-only", *options).communicate()
    assert "tests collected" in out, err
    assert [file.name for file in (busy / "tests").iterdir()] == ["turn.lock"]


def test_second_run_says_what_it_waits_for(busy: Path) -> None:
    run = begin(busy)
    assert run.stderr is not None
    line = run.stderr.readline()
    run.kill()
    run.communicate()
    assert line == (
        f"Waiting until the test run of process 42 ends: it uses {busy / 'tests'} too. "
        "DATA_DIR=/path/to/folder runs the tests on another folder.\n"
    )
