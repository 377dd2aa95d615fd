"""Former releases, out of the repository's history."""

import subprocess
from pathlib import Path

from tests.support.server import ROOT

RELEASE_1 = "ddfdd7843e5a24bf876f6f5df4f048afcbeffa53"  # 1.0.0, of 2026-11-21
LAST_RELEASE = "b5a091dfdf65665f22e301ee4b23b52fedc7386a"  # the one before the present one


def archive(commit: str, file: Path) -> None:
    """Writes a release's files into a tar.

    Raises:
        AssertionError: the clone lacks the commit.
    """
    done = subprocess.run(
        ["git", "archive", f"--output={file}", commit], cwd=ROOT, capture_output=True, text=True
    )
    advice = f"This clone lacks the former release {commit[:7]}. Run: git fetch --unshallow"
    assert done.returncode == 0, f"{advice}\n{done.stderr}"
