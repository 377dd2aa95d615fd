"""/api/docs: its programs in Python, its dtd commands and its recipes work unchanged."""

import html
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from django.core.management import call_command

from config.runtime.ports import free_port
from documents.models import Document
from tests.events.test_events import settled
from tests.slow.test_examples_receive import SECRET, signed
from tests.support import factories
from tests.support.examples import Examples
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.seals import KEY, seal
from tests.support.server import eventually


@pytest.fixture
def lease(acme: Tenant) -> Document:
    return factories.document(acme.workspace, "COMPLETED", title="A lease")


@pytest.fixture
def codes(examples: Examples, acme: Tenant, lease: Document) -> Any:
    """The page's codes of one class, for this server and document, and dtd on the PATH."""
    page = httpx.get(f"{examples.environment['DTD_BASE_URL']}/api/docs").text
    program = examples.folder / "bin" / "dtd"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dtd "$@"\n')
    program.chmod(0o755)
    examples.environment["PATH"] = f"{program.parent}:{examples.environment['PATH']}"
    examples.environment["HOME"] = str(examples.folder)
    (examples.folder / ".dtd-key").write_text(acme.raw)
    (examples.folder / ".dtd-key").chmod(0o600)

    def of(name: str) -> list[str]:
        found = re.findall(f'<pre tabindex="0" class="{name}"><code>(.*?)</code></pre>', page, re.S)
        codes = [html.unescape(code).replace("dtd_…", acme.raw) for code in found]
        return [re.sub('(ID=|id = ")…', rf"\g<1>{lease.id}", code) for code in codes]

    return of


def shell(examples: Examples, script: str, **environment: str) -> str:
    done = subprocess.run(
        ["sh", "-euc", script],
        cwd=examples.folder,
        env=examples.environment | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def crontab(examples: Examples, text: str) -> str:
    """Runs the command of a crontab's last line with the variables of the others, as cron does."""
    *variables, line = text.splitlines()
    command = re.fullmatch(r"(?:[\d*]+ ){5}(.*)", line)
    assert command
    values = dict(variable.split("=", 1) for variable in variables)
    return shell(examples, command[1], **{name: value.strip('"') for name, value in values.items()})


def test_docs_programs_in_python_work(codes: Any, examples: Examples, lease: Document) -> None:
    assert eventually(settled)
    programs = codes("client")
    assert len(programs) == 6
    done = shell(examples, f"\"{sys.executable}\" -c '{chr(10).join(programs)}'").splitlines()
    assert done[0] == "Acme"
    assert done[1] == f"{lease.id} A lease"
    assert done[2].endswith(" A lease")
    assert (examples.folder / "agreement – signed.pdf").exists()


def test_docs_commands_of_dtd_work(codes: Any, examples: Examples, lease: Document) -> None:
    *scripts, last = sorted(codes("command"), key=lambda script: "watch" in script)
    assert len(scripts) == 5
    printed = shell(examples, "\n".join(scripts))
    assert printed.startswith("WORKSPACE")
    assert printed.count(str(lease.id)) > 4
    assert (examples.folder / "agreement – signed.pdf").exists()
    done = subprocess.run(
        ["timeout", "3", *last.split()], env=examples.environment, capture_output=True
    )
    assert (done.returncode, done.stderr) == (124, b"")  # it was still waiting for events


def test_docs_recipe_copies_agreements_nightly(codes: Any, examples: Examples) -> None:
    [text] = codes("nightly")
    crontab(examples, text)
    assert len(list((examples.folder / "agreements").glob("*.pdf"))) == 2


def test_docs_recipe_reports_what_waits(codes: Any, examples: Examples, acme: Tenant) -> None:
    factories.recipient(factories.document(acme.workspace, "SENT"))
    [text] = codes("weekly")
    crontab(examples, text)
    assert "ada@example.com,Sent agreement," in (examples.folder / "waiting.csv").read_text()


@contextmanager
def crm(files: dict[str, bytes], status: list[int]) -> Iterator[str]:
    """The URL of a server that keeps what it receives, and responds with the last status."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:  # noqa: N802 - the base class calls it
            files[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status[-1])
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer((HOST, 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_docs_recipe_attaches_a_signed_pdf(codes: Any, examples: Examples, lease: Document) -> None:
    [program] = codes("attach")
    files: dict[str, bytes] = {}
    status, port = [204], free_port()
    with crm(files, status) as url:
        variables = {"DTD_WEBHOOK_SECRET": SECRET, "CRM_URL": url, "PORT": str(port)}
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=examples.folder,
            env=examples.environment | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def post(body: bytes, headers: dict[str, str]) -> int | None:
            try:
                return httpx.post(
                    f"http://{HOST}:{port}", content=body, headers=headers
                ).status_code
            except httpx.ConnectError:
                return None

        try:
            body, headers = signed(str(lease.id))
            assert eventually(lambda: post(body, headers) == 204)
            assert lease.signed
            assert list(files) == [f"/agreements/{lease.id}.pdf"]
            assert files.popitem()[1].startswith(b"%PDF")
            assert post(body + b" ", headers) == 401
            status.append(500)
            assert post(body, headers) == 503
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def test_docs_recipe_verifies_evidence(
    codes: Any, examples: Examples, lease: Document, acme: Tenant, settings: Any
) -> None:
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    folder: Path = examples.folder
    (folder / "signed.pdf").write_bytes(acme.get(f"/documents/{lease.id}/download").body)
    seal()
    call_command("export_evidence", str(lease.id), output=folder / "evidence.json")
    [command] = codes("verify")
    assert shell(examples, command, KEY=str(KEY.public)).startswith("VALID. ")
