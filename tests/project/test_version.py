"""`manage.py version`: which release this is."""

import subprocess
import sys

import pytest

from config import version
from tests.support.server import ROOT


@pytest.mark.parametrize("word", ["version", "--version"])
def test_version_is_one_line_and_needs_no_variable(word: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", word], cwd=ROOT, env={}, capture_output=True, text=True
    )
    assert done.stdout == f"{version.line()}\n"
    assert done.stdout.startswith("Document API 1.")
    assert str(ROOT) in done.stdout


def test_version_of_an_archive_has_the_commit() -> None:
    git = ("git", "-C", str(ROOT))
    head = subprocess.check_output([*git, "rev-parse", "--short", "HEAD"], text=True).strip()
    archive = [*git, "archive", "--worktree-attributes", "HEAD", "config/version.py"]
    assert f'COMMIT = "{head}'.encode() in subprocess.check_output(archive)
