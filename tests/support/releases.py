"""Former releases, out of the repository's history, with the packages that they need."""

import contextlib
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
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


def unpack(commit: str, folder: Path) -> Path:
    """The folder with a release's files."""
    archive(commit, folder / "release.tar")
    code = folder / commit[:7]
    code.mkdir()
    subprocess.run(["tar", "-xf", folder / "release.tar", "-C", code], check=True)
    return code


def add_missing_packages(code: Path) -> None:
    """Installs what a release needs and we no longer do beside its code, where Python looks."""
    required = re.findall(
        r"^([\w.-]+)==([\w.]+) \\$", (code / "requirements.txt").read_text(), re.M
    )
    missing = []
    for name, number in required:
        with contextlib.suppress(PackageNotFoundError):
            version(name)
            continue
        missing.append(f"{name}=={number}")
    if missing:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", f"--target={code}", *missing], check=True, timeout=120)
