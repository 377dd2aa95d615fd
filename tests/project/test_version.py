"""Which release this is."""

import subprocess

from tests.support.server import ROOT


def test_version_of_an_archive_has_the_commit() -> None:
    git = ("git", "-C", str(ROOT))
    head = subprocess.check_output([*git, "rev-parse", "--short", "HEAD"], text=True).strip()
    archive = [*git, "archive", "--worktree-attributes", "HEAD", "config/version.py"]
    assert f'COMMIT = "{head}'.encode() in subprocess.check_output(archive)
