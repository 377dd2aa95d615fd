"""A client that is generated from the OpenAPI document has types, and works."""

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support import factories
from tests.support.cast import settled
from tests.support.client import golden
from tests.support.factories import Tenant, at
from tests.support.openapi import SCHEMA_FILE
from tests.support.server import Server, eventually

FILES = Path(__file__).parent.parent / "generated"
BIN = Path(sys.executable).parent


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """The output of a command; fails with its errors when the command fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": f"{BIN}:{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_one_format(found: Any) -> Any:
    """The same with all times in one format."""
    text = json.dumps(found)
    time = r"(?<=\")\d{4}-\d\d-\d\dT[^\"]+(?=\")"
    return json.loads(re.sub(time, lambda at: datetime.fromisoformat(at[0]).isoformat(), text))


def test_generated_client_is_typed_and_reads_what_the_api_has(
    server: Server, acme: Tenant, tmp_path: Path
) -> None:
    """mypy knows the type of each value that the program uses, and what can be null."""
    generate = (BIN / "openapi-python-client", "generate", "--meta", "none", "--fail-on-warning")
    options = ("--config", FILES / "openapi-python-client.yaml", "--output-path", "read_api")
    run(*generate, "--path", SCHEMA_FILE, *options, folder=tmp_path)
    program = FILES / "program.py"
    check = (BIN / "mypy", "--strict", "--follow-imports=silent", "--config-file", os.devnull)
    run(*check, "--cache-dir", "mypy", program, folder=tmp_path, MYPYPATH=str(tmp_path))

    sent, draft, complete = (
        factories.document(acme.workspace, status, created_at=at(f"2026-03-0{day} 09:30:00"))
        for day, status in enumerate(("SENT", "DRAFT", "COMPLETED"), 1)
    )
    factories.recipient(sent, sent_at=at("2026-03-01 10:00:00.5"))
    factories.recipient(complete, "SIGNER", "SIGNED", completed_at=at("2026-03-01 10:00:00"))
    assert complete.signed is not None
    assert eventually(settled)
    command = (sys.executable, program, f"http://127.0.0.1:{server.port}", acme.raw)
    printed = run(*command, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert in_one_format(json.loads(printed)) == in_one_format(
        {
            "me": server.get("/me", acme.raw).json(),
            "ids": [str(each.id) for each in (complete, draft, sent)],
            "read": server.get(f"/documents/{complete.id}", acme.raw).json(),
            "sha256": complete.signed.sha256,
            "events": server.get("/events?type=document.completed", acme.raw).json()["data"],
            "none": [404, "document_not_found", golden("no_document")],
        }
    )
