"""A client that openapi-python-client generates from the OpenAPI document works."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import factories
from tests.client import golden
from tests.factories import Tenant, at
from tests.openapi import SCHEMA_FILE
from tests.server import Server

FILES = Path(__file__).parent / "generated"
BIN = Path(sys.executable).parent


def run(*command: str | Path, **environment: str) -> str:
    """The output of a command; fails with its errors when the command fails."""
    done = subprocess.run(
        command,
        env={"PATH": f"{BIN}:{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the generated package `read_api`; a warning is an error."""
    folder = tmp_path_factory.mktemp("client")
    generate = (BIN / "openapi-python-client", "generate", "--meta", "none", "--fail-on-warning")
    source = ("--path", SCHEMA_FILE)
    options = ("--config", FILES / "openapi-python-client.yaml")
    run(*generate, *source, *options, "--output-path", folder / "read_api")
    return folder


def test_generated_client_lists_reads_and_downloads(
    server: Server, acme: Tenant, package: Path
) -> None:
    sent = at("2026-03-01 10:00:00.5")
    documents = [
        factories.document(acme.workspace, status, created_at=at(f"2026-03-0{day} 09:30:00"))
        for day, status in enumerate(["SENT", "DRAFT", "COMPLETED", "SENT", "PARTIALLY_SIGNED"], 1)
    ]
    factories.recipient(documents[0], sent_at=sent)
    factories.recipient(documents[4], "SIGNER", "SIGNED", completed_at=sent)
    factories.recipient(documents[4], "SIGNER", "PENDING", order=2, email="late@example.com")
    complete = documents[2]
    factories.recipient(complete, "SIGNER", "SIGNED", sent_at=sent, completed_at=sent)

    base = f"http://127.0.0.1:{server.port}"
    printed = run(sys.executable, FILES / "program.py", base, acme.raw, PYTHONPATH=str(package))
    found: dict[str, Any] = json.loads(printed)
    assert found["workspace"] == str(acme.workspace.id)
    assert found["counts"] == {"draft": 1, "sent": 2, "completed": 1}
    assert found["ids"] == [str(document.id) for document in reversed(documents)]
    assert found["complete"] == [str(complete.id)]
    assert {id: late for id, late in found["waiting"].items() if late} == {
        str(documents[0].id): [["ada@example.com", "2026-03-01T10:00:00.500000+00:00"]],
        str(documents[4].id): [["late@example.com", None]],
    }
    read = server.get(f"/documents/{complete.id}", acme.raw).json()["data"]
    assert json.dumps(found["read"]).replace("+00:00", "Z") == json.dumps(read)
    assert complete.signed is not None
    assert found["sha256"] == complete.signed.sha256
    assert found["part"] == "%PDF-"
    assert found["none"] == golden("no_document")["error"]
    assert found["stranger"] == [401, golden("unauthorized")["error"]]


def test_generated_types_pass_mypy(package: Path, tmp_path: Path) -> None:
    """mypy knows the type of each value that the program uses, and what can be null."""
    options = ("--strict", "--follow-imports=silent", "--config-file", os.devnull)
    command = (BIN / "mypy", *options, "--cache-dir", tmp_path, FILES / "program.py")
    run(*command, MYPYPATH=str(package))
