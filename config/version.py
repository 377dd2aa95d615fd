"""Which release this is: for `manage.py version`, the doctor and the page System."""

import contextlib
import functools
import subprocess
import tomllib
from pathlib import Path

RELEASE = Path(__file__).resolve().parent.parent
SECONDS = 2.0  # for git's response
COMMIT = "$Format:%h$"  # `git archive` writes the commit here


def number() -> str:
    """As "1.0.0"."""
    project = tomllib.loads((RELEASE / "pyproject.toml").read_text())["project"]
    version: str = project["version"]
    return version


@functools.cache  # a process stays with its release
def commit() -> str:
    """The commit, as "1a2b3c4"; "unknown" in an image."""
    if not COMMIT.startswith("$"):
        return COMMIT
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        command = ("git", "-C", str(RELEASE), "rev-parse", "--short", "HEAD")
        found = subprocess.run(  # noqa: S603 - ours
            command, capture_output=True, text=True, timeout=SECONDS
        )
        return found.stdout.strip() or "unknown"
    return "unknown"


def line() -> str:
    """One line: `Document API 1.0.0, commit 1a2b3c4, in /opt/documents-api-2`."""
    return f"Document API {number()}, commit {commit()}, in {RELEASE}"
