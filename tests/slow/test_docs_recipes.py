"""/api/docs: each sample works unchanged, in each of its languages."""

import asyncio
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import mcp
import pytest
from django.core.management import call_command
from django.test import Client
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

from config.docs.pages import PAGES
from config.ports import free_port
from documents.models import Document
from tests.support import factories
from tests.support.cast import settled
from tests.support.docs import samples, text_of
from tests.support.examples import Examples, path_of
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.receiver import Receiver
from tests.support.seals import KEY, seal
from tests.support.server import eventually
from tests.support.webhooks import SECRET, signed


@pytest.fixture
def codes(examples: Examples, acme: Tenant, lease: Document) -> Any:
    """A sample's code by language, for this server. dtd is where the start page installs it."""
    program = examples.folder / "dtd" / "bin" / "dtd"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dtd "$@"\n')
    program.chmod(0o755)
    examples.environment["PATH"] = f"{program.parent}:{examples.environment['PATH']}"
    examples.environment["HOME"] = str(examples.folder)
    (examples.folder / ".dtd-key").write_text(acme.raw)
    (examples.folder / ".dtd-key").chmod(0o600)

    def of(path: str, name: str) -> dict[str, str]:
        server = urlsplit(examples.environment["DTD_BASE_URL"]).netloc
        page = Client().get(f"/api/docs{path}", headers={"host": server})  # the server has none
        return samples(page.content.decode())[name]

    return of


def run(examples: Examples, language: str, code: str) -> str:
    """Runs a sample in one of the languages. Returns what it prints."""
    if language in ("curl", "dtd", "shell"):
        return shell(examples, code)
    node = [str(Path(sys.executable).parent / "node"), "--input-type=module", "--eval"]
    return output(examples, *(node if language == "javascript" else [sys.executable, "-c"]), code)


def shell(examples: Examples, script: str, **environment: str) -> str:
    return output(examples, "bash", "-euc", script, **environment)


def output(examples: Examples, *command: str, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=examples.folder,
        env=examples.environment | environment,
        input=examples.environment["DTD_API_KEY"] + "\n",  # what a user pastes
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


# A page and a sample → what it prints in each language, in any case of letters.
PRINTS = {
    ("", "get_me"): "Acme",
    ("/authentication", "file"): "Acme sync",
    ("/pages", "list_documents"): "{id}",
    ("/search", "search_documents"): "{id}",
    ("/search", "waiting"): "ada@example.com",
    ("/downloads", "get_document"): "{newest}",
    ("/downloads", "download_document"): "",
    ("/events", "list_events"): "Wz",  # how a cursor begins
    ("/errors", "error"): "invalid_parameter",
    ("/reference/get_openapi", "get_openapi"): '"openapi"',
}
# Samples that other tests run.
OTHERS = {
    *(("/recipes", name) for name in ("nightly", "weekly", "evidence")),
    *(("/webhooks", name) for name in ("verify", "listen")),
    ("/assistants", "mcp"),
    ("", "environment"),
    ("", "install"),  # by the test of the client
}


def test_docs_samples_are_all_run(settings: Any) -> None:
    """The reference has the samples of the guide."""
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    paths = [f"/{page.path}" if page.path else "" for page in PAGES]
    found = {(path, name): code for path in paths for name, code in samples(text_of(path)).items()}
    reference = {each for each in found if each[0].startswith("/reference/")} - PRINTS.keys()
    assert found.keys() - reference == PRINTS.keys() | OTHERS
    guide = {name: code for (_, name), code in found.items()}
    assert all(found[each] == guide[each[1]] for each in reference)


@pytest.mark.parametrize(("path", "name"), PRINTS)
def test_docs_sample_works_in_each_language(
    codes: Any, examples: Examples, acme: Tenant, lease: Document, path: str, name: str
) -> None:
    newest = factories.document(acme.workspace, "SENT")
    factories.recipient(newest)
    assert eventually(settled)
    for language, code in codes(path, name).items():
        if "dtd watch" in code:
            continue  # it does not end
        printed = run(examples, language, code)
        expected = PRINTS[path, name].format(id=lease.id, newest=newest.id)
        assert expected.lower() in printed.lower(), language
        if name == "download_document":
            [pdf] = examples.folder.glob("*.pdf")
            assert lease.signed
            assert hashlib.sha256(pdf.read_bytes()).hexdigest() == lease.signed.sha256
            pdf.unlink()


def test_docs_line_reads_a_key_that_is_pasted(codes: Any, examples: Examples) -> None:
    lines, request = codes("", "environment")["shell"], codes("", "get_me")["curl"]
    assert "Acme" in shell(examples, f"unset DTD_API_KEY DTD_BASE_URL\n{lines}\n{request}")


def test_docs_entry_of_an_assistant_starts_the_server(codes: Any, examples: Examples) -> None:
    run(examples, "dtd", codes("/authentication", "file")["dtd"])
    [entry] = json.loads(codes("/assistants", "mcp")["json"])["mcpServers"].values()
    environment = examples.environment | entry.pop("env")
    del environment["DTD_API_KEY"]

    async def workspace() -> str:
        server = StdioServerParameters(**entry, env=environment)
        async with mcp.Client(stdio_client(server)) as client:
            return str(await client.call_tool("who_am_i", {}))

    assert "Acme" in asyncio.run(workspace())
    assert (examples.folder / "agreements").is_dir()


def test_docs_recipes_copy_agreements_and_report_what_waits(
    codes: Any, examples: Examples, acme: Tenant
) -> None:
    text = codes("/recipes", "nightly")["crontab"]
    crontab(examples, text)
    assert len(list((examples.folder / "agreements").glob("*.pdf"))) == 2
    factories.recipient(factories.document(acme.workspace, "SENT"))
    crontab(examples, codes("/recipes", "weekly")["crontab"])
    assert "ada@example.com,Sent agreement," in (examples.folder / "waiting.csv").read_text()


def test_docs_recipe_attaches_a_signed_pdf(
    examples: Examples, lease: Document, receiver: Receiver
) -> None:
    port = str(free_port())
    variables = {"DTD_WEBHOOK_SECRET": SECRET, "CRM_URL": receiver.url(), "PORT": port}
    process = subprocess.Popen(
        [sys.executable, path_of("attach")],
        cwd=examples.folder,
        env=examples.environment | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def post(body: bytes, headers: dict[str, str]) -> int | None:
        try:
            return httpx.post(f"http://{HOST}:{port}", content=body, headers=headers).status_code
        except httpx.ConnectError:
            return None

    try:
        body, headers = signed(lease.id)
        assert eventually(lambda: post(body, headers) == 204)
        [attached] = receiver.received
        assert attached.path == f"/200/agreements/{lease.id}.pdf"
        assert attached.body.startswith(b"%PDF")
        assert post(body + b" ", headers) == 401
        receiver.stop()
        assert post(body, headers) == 503
    finally:
        process.kill()
        process.wait()


def test_docs_recipe_verifies_evidence(
    codes: Any, examples: Examples, lease: Document, acme: Tenant, settings: Any
) -> None:
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    folder: Path = examples.folder
    (folder / "signed.pdf").write_bytes(acme.get(f"/documents/{lease.id}/download").body)
    seal()
    call_command("export_evidence", str(lease.id), output=folder / "evidence.json")
    command = codes("/recipes", "evidence")["dtd"]
    assert shell(examples, command).startswith("VALID. ")
