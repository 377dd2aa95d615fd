"""`make release`, in a clone of this checkout."""

import hashlib
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.support.server import ROOT

AUTHOR = {
    f"GIT_{who}_{what}": f"{what.lower()}@example.com"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


def git(clone: Path, *words: str) -> None:
    variables = {**os.environ, **AUTHOR}
    subprocess.run(["git", *words], cwd=clone, env=variables, check=True, capture_output=True)


def change(clone: Path, file: str, old: str, new: str) -> None:
    path = clone / file
    text = path.read_text() if path.exists() else ""
    assert old in text
    path.write_text(text.replace(old, new, 1))
    git(clone, "add", "--all")
    git(clone, "commit", "--message", file)


def release(clone: Path, version: str = "7.1.0") -> subprocess.CompletedProcess[str]:
    command = ["make", "release", f"VERSION={version}"]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with this checkout's release script, ready for the release 7.1.0."""
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "clone"], check=True)
    clone = tmp_path / "clone"
    change(clone, "pyproject.toml", 'version = "1.0.0"', 'version = "7.1.0"')
    news = (clone / "CHANGELOG.md").read_text()
    before = "## 7.1.0 (2030-01-31)\n\n- A field.\n\n## 1.0.0 (2029-01-31)"
    (clone / "CHANGELOG.md").write_text(news.replace("## Unreleased", before))
    change(clone, "docs/upgrading.md", "\nNo release", "\n## From 1.0.0\n\nNo release")
    return clone


@pytest.mark.slow
def test_release_has_the_archive_the_packages_and_the_checksums(clone: Path) -> None:
    first = release(clone)
    assert first.returncode == 0, first.stderr
    assert "git tag -s v7.1.0" in first.stdout
    files = {path.name: path.read_bytes() for path in (clone / "dist").iterdir()}
    sums = dict(line.split()[::-1] for line in files.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    assert sums.keys() == {"documents-api-7.1.0.tar.gz", "documents-api-7.1.0.cdx.json"}
    with tarfile.open(clone / "dist/documents-api-7.1.0.tar.gz") as archive:
        names = archive.getnames()
        version = archive.extractfile("config/version.py")
        assert version
        assert re.search(rb'^COMMIT = "[0-9a-f]{7,}', version.read(), re.MULTILINE)
    assert "deploy/upgrade" in names  # where deploy/upgrade looks for it
    release(clone)
    assert files.items() <= {p.name: p.read_bytes() for p in (clone / "dist").iterdir()}.items()


def test_release_is_refused_until_its_pages_agree_and_all_is_committed(clone: Path) -> None:
    for file, old, new, said in (
        ("pyproject.toml", '"7.1.0"', '"7.2.0"', 'write version = "7.1.0"'),
        ("CHANGELOG.md", "## 7.1.0 (2030-01-31)", "## Unreleased", "## 7.1.0 ("),
        ("docs/upgrading.md", "\n## From 1.0.0\n", "\n## Before\n", "## From 1.0.0"),
        ("docs/sbom.json", '"name": "boto3"', '"name": "boto"', "make sbom"),
    ):
        change(clone, file, old, new)
        refused = release(clone)
        assert refused.returncode
        assert said in refused.stderr
        git(clone, "reset", "--hard", "HEAD~1")
    assert "make release VERSION=" in release(clone, "").stderr
    (clone / "new").touch()
    assert "git status" in release(clone).stderr
    assert not (clone / "dist").exists()
