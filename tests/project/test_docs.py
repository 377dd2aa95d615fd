"""GET /api/docs: the documentation page and its files."""

import hashlib
import html
import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from documents.models import Document, Recipient
from events.models import KEEP_DAYS
from events.webhooks.sender import USER_AGENT
from tests.support import factories
from tests.support.client import golden
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import ROOT, Server

PAGE = "/api/docs"
MOST_BYTES = 200 * 1024


@pytest.fixture(scope="module")
def page() -> Any:
    """The page, requested without a key; it needs no database."""
    return Client().get(PAGE)


def test_docs_page_needs_no_key_and_has_a_content_security_policy(page: Any) -> None:
    assert page.status_code == 200
    assert page["Content-Type"] == "text/html; charset=utf-8"
    assert page["Cache-Control"] == "no-cache"
    assert page["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert not page.cookies
    assert "Vary" not in page


def test_docs_page_is_small(page: Any) -> None:
    assert len(page.content) < MOST_BYTES


def test_docs_page_and_openapi_document_have_the_same_facts(page: Any) -> None:
    text = page.content.decode()
    [rows] = re.findall(r"<h2>Good to know</h2>\s*<dl>(.*?)</dl>", text, re.S)
    facts = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", rows)
    description = json.loads((ROOT / "docs" / "openapi.json").read_text())["info"]["description"]
    [part] = re.findall(r"## Good to know\n\n(.*?)\n\n", description, re.S)
    described = [tuple(line.split(": ", 1)) for line in part.removeprefix("- ").split("\n- ")]
    plain = [(name, re.sub("</?code>", "`", fact)) for name, fact in facts]
    assert [(name, fact.lower()) for name, fact in plain] == [
        (name, fact.lower()) for name, fact in described
    ]


def test_docs_page_facts_are_those_of_the_code(page: Any) -> None:
    text = html.unescape(page.content.decode())
    for model, name, words in (
        (Document, "title", "title"),
        (Document, "file_name", "file name"),
        (Recipient, "name", "name"),
        (Recipient, "email", "e-mail"),
        (Recipient, "decline_reason", "reason for declining"),
    ):
        assert f"{words} {model._meta.get_field(name).max_length:,}" in text  # type: ignore[union-attr]
    assert f"<code>{USER_AGENT}</code>" in text
    assert f"those of events work for {KEEP_DAYS} days" in text


def test_docs_page_obeys_its_policy(page: Any) -> None:
    text = page.content.decode()
    assert not re.findall(r"<style|\sstyle=|\son\w+=|javascript:", text)
    assert len(re.findall("<script", text)) == len(re.findall('<script src="/static/', text)) == 2
    # The only absolute URLs are the service's own, in commands.
    assert set(re.findall(r"https?://[^/\"]+", text)) == {"http://testserver"}


@pytest.mark.parametrize("path", ["/", "/api/docs/"])
def test_docs_page_is_where_other_urls_redirect_to(path: str) -> None:
    response = Client().get(path)
    assert (response.status_code, response["Location"]) == (302, PAGE)


@pytest.mark.parametrize("path", ["/api/docs.json", "/api/docs/x", "/api/docsx", "/api/DOCS"])
def test_unknown_paths_like_that_of_the_docs_page_are_json(path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 404
    assert response.json() == golden("no_path")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_docs_page_is_read_only(method: str) -> None:
    response = Client().generic(method, PAGE)
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert response.json() == golden("wrong_method")


def test_docs_page_commands_have_the_address_of_the_request(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["api.acme.example"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    sent = {"Host": "api.acme.example", "X-Forwarded-Proto": "https"}
    assert '"https://api.acme.example/api/v1/me"' in html.unescape(
        Client().get(PAGE, headers=sent).content.decode()
    )
    assert Client().get(PAGE, headers={"Host": "evil.example"}).status_code == 400


def commands(page: str) -> str:
    """The commands in the page, in their order."""
    return "\n".join(
        html.unescape(block)
        for block in re.findall('<pre tabindex="0"><code>(.*?)</code></pre>', page, re.S)
    )


def test_docs_page_commands_work_unchanged(server: Server, acme: Tenant, tmp_path: Path) -> None:
    document = factories.document(acme.workspace, "COMPLETED", title="A lease")
    page = server.raw(
        f"GET {PAGE} HTTP/1.1\r\nHost: {HOST}:{server.port}\r\nConnection: close\r\n\r\n".encode()
    )
    script = commands(page.decode()).replace("dtd_…", acme.raw).replace("ID=…", f"ID={document.id}")
    script = script.replace("\ncurl", "\ncurl -sS")
    done = subprocess.run(
        ["sh", "-euc", script],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert script.count("curl") == 6
    assert '"name":"Acme"' in done.stdout
    assert done.stdout.count(f'"id":"{document.id}"') == 3  # listed, found, and by itself
    assert '{"data":[],"nextCursor":"' in done.stdout
    file = (tmp_path / f"{document.id}-signed.pdf").read_bytes()
    headers = (tmp_path / f"{document.id}.headers").read_text().lower()
    assert f'etag: "{hashlib.sha256(file).hexdigest()}"' in headers


def test_docs_page_files_are_served_by_this_server(server: Server, page: Any) -> None:
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.content.decode())
    assert sorted({Path(path).suffix for path in files}) == [".css", ".js", ".py", ".svg"]
    for path in files:
        request = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
        head, _, body = server.raw(request.encode()).partition(b"\r\n\r\n")
        headers = head.decode().lower().split("\r\n")
        assert headers[0] == "http/1.1 200 ok", path
        assert "cache-control: max-age=315360000, public, immutable" in headers
        assert "content-security-policy: default-src 'none'; frame-ancestors 'none'" in headers
        assert "x-content-type-options: nosniff" in headers
        if path.endswith(".py"):
            name = re.sub(r"\.[0-9a-f]{12}\.py$", ".py", Path(path).name)
            assert body == (ROOT / "examples" / name).read_bytes()


def test_docs_page_works_without_the_database(server: Server) -> None:
    server.database.refuse()
    request = f"GET {PAGE} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    assert server.raw(request.encode()).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("contact", ["mailto:security@acme.example", "https://acme.example/help"])
def test_security_txt_has_the_operator_s_contact(settings: Any, contact: str) -> None:
    settings.SECURITY_CONTACT = contact
    response = Client().get("/.well-known/security.txt", headers={"Host": "localhost"})
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    named = dict(line.split(": ", 1) for line in response.content.decode().splitlines())
    assert named.keys() == {"Contact", "Expires", "Canonical"}
    assert (named["Contact"], named["Canonical"]) == (
        contact,
        "http://localhost/.well-known/security.txt",
    )
    left = datetime.fromisoformat(named["Expires"]) - datetime.now(UTC)
    assert timedelta(0) < left < timedelta(days=365)


def test_security_txt_without_a_contact_is_404() -> None:
    assert Client().get("/.well-known/security.txt").status_code == 404
