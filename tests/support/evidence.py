"""Makes evidence files, and checks them as a court's expert would: without this project."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management import call_command

from tests.support.examples import path_of
from tests.support.seals import KEY


def exported(document_id: UUID | str) -> str:
    """What `export_evidence` prints."""
    output = io.StringIO()
    call_command("export_evidence", str(document_id), stdout=output)
    return output.getvalue()


def parsed(document_id: UUID | str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(exported(document_id))
    return found


def verify(file: Path, *words: str, key: str = str(KEY.public)) -> tuple[int, str]:
    """The exit status and output of `verify_evidence.py`, which cannot import this project."""
    done = subprocess.run(
        [sys.executable, "-I", path_of("verify_evidence"), file, "--key", key, *words],
        cwd=file.parent,
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert "Traceback" not in done.stdout, done.stdout
    return done.returncode, done.stdout
