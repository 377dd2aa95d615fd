"""A client that is generated from the OpenAPI document has types, and works."""

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.events.test_events import settled
from tests.support import factories
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


class Consumer:
    """A consumer with some documents.

    Attributes:
        arguments: of the program.
        expected: what it must print, as JSON.
    """

    def __init__(self, server: Server, acme: Tenant, freebie: Tenant) -> None:
        self.arguments = (f"http://127.0.0.1:{server.port}", acme.raw, freebie.raw)
        sent = at("2026-03-01 10:00:00.5")
        statuses = ["SENT", "DRAFT", "COMPLETED", "SENT", "PARTIALLY_SIGNED"]
        documents = [
            factories.document(acme.workspace, status, created_at=at(f"2026-03-0{day} 09:30:00"))
            for day, status in enumerate(statuses, 1)
        ]
        factories.recipient(documents[0], sent_at=sent)
        factories.recipient(documents[4], "SIGNER", "SIGNED", completed_at=sent)
        factories.recipient(documents[4], "SIGNER", "PENDING", order=2, email="late@example.com")
        complete = documents[2]
        factories.recipient(complete, "SIGNER", "SIGNED", sent_at=sent, completed_at=sent)
        assert complete.signed is not None
        waiting = {
            documents[0]: [["ada@example.com", "2026-03-01T10:00:00.500000Z"]],
            documents[4]: [["late@example.com", None]],
        }
        assert eventually(settled)
        events = server.get("/events?type=document.completed", acme.raw).json()["data"]
        assert [event["data"]["id"] for event in events] == [str(complete.id)]
        self.expected = {
            "me": server.get("/me", acme.raw).json(),
            "ids": [str(document.id) for document in reversed(documents)],
            "complete": [str(complete.id)],
            "waiting": {str(document.id): waiting.get(document, []) for document in documents},
            "read": server.get(f"/documents/{complete.id}", acme.raw).json(),
            "sha256": complete.signed.sha256,
            "part": "%PDF-",
            "events": [events, []],
            "none": [404, "document_not_found", golden("no_document")],
            "stranger": [401, "invalid_key", golden("unauthorized")],
            "unpaid": [402, "plan_limit", golden("plan_required")],
        }

    def check(self, printed: str) -> None:
        assert in_one_format(json.loads(printed)) == in_one_format(self.expected)


def in_one_format(found: Any) -> Any:
    """The same with all times in one format."""
    text = json.dumps(found)
    time = r"(?<=\")\d{4}-\d\d-\d\dT[^\"]+(?=\")"
    return json.loads(re.sub(time, lambda at: datetime.fromisoformat(at[0]).isoformat(), text))


@pytest.fixture
def consumer(server: Server, acme: Tenant, freebie: Tenant) -> Consumer:
    return Consumer(server, acme, freebie)


def test_python_client(consumer: Consumer, tmp_path: Path) -> None:
    """mypy knows the type of each value that the program uses, and what can be null."""
    generate = (BIN / "openapi-python-client", "generate", "--meta", "none", "--fail-on-warning")
    options = ("--config", FILES / "openapi-python-client.yaml", "--output-path", "read_api")
    run(*generate, "--path", SCHEMA_FILE, *options, folder=tmp_path)
    program = FILES / "program.py"
    check = (BIN / "mypy", "--strict", "--follow-imports=silent", "--config-file", os.devnull)
    run(*check, "--cache-dir", "mypy", program, folder=tmp_path, MYPYPATH=str(tmp_path))
    command = (sys.executable, program, *consumer.arguments)
    consumer.check(run(*command, folder=tmp_path, PYTHONPATH=str(tmp_path)))
