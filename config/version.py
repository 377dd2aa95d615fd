"""Which release this is, for the checks."""

import tomllib
from pathlib import Path

RELEASE = Path(__file__).resolve().parent.parent
COMMIT = "$Format:%h$"  # `git archive` writes the commit here


def line() -> str:
    """One line: `Document API 1.0.0, commit 1a2b3c4, in /opt/documents-api-2`."""
    project = tomllib.loads((RELEASE / "pyproject.toml").read_text())["project"]
    commit = "not released" if COMMIT.startswith("$") else f"commit {COMMIT}"
    return f"Document API {project['version']}, {commit}, in {RELEASE}"
