"""GET /api/docs: the pages of the documentation, and their files."""

import html
import re
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from apikeys import keys
from apikeys.throttling import REQUESTS_PER_MINUTE
from config.api.parameters import LIMIT_MAX
from config.docs.pages import PAGES
from documents.importing.entries import MAX_RECIPIENTS
from documents.models import Document, Recipient
from events import feed
from events.models import KEEP_DAYS
from events.webhooks import policy
from tests.support.client import golden
from tests.support.docs import text_of
from tests.support.nginx import request
from tests.support.openapi import SCHEMA
from tests.support.server import ROOT, Server

PAGE = "/api/docs"
PATHS = [f"/{page.path}" if page.path else "" for page in PAGES]


@pytest.fixture(scope="module", params=PATHS)
def page(request: pytest.FixtureRequest) -> Any:
    """A page, requested without a key; it needs no database."""
    return Client().get(f"{PAGE}{request.param}")


def test_docs_page_needs_no_key_and_has_a_content_security_policy(page: Any) -> None:
    assert page.status_code == 200
    assert page["Content-Type"] == "text/html; charset=utf-8"
    assert page["Cache-Control"] == "no-cache"
    assert page["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    assert not page.cookies
    assert "Vary" not in page


def test_docs_page_obeys_its_policy(page: Any) -> None:
    text = page.content.decode()
    assert not re.findall(r"<style|\sstyle=|\son\w+=|javascript:", text)
    assert len(re.findall("<script", text)) == len(re.findall('<script src="/static/', text)) == 1
    assert set(re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(?!/)(.*?)"', text)) == set()


def test_docs_page_links_to_pages_and_parts_that_exist(page: Any) -> None:
    text = page.content.decode()
    for path in set(re.findall(r'href="/api/docs/?([^"#]*)"', text)):
        assert f"/{path}" in [*PATHS, "/"], path
    for anchor in re.findall(r'href="#(.*?)"', text):
        assert f'id="{anchor}"' in text
    assert "{%" not in text
    assert "{{" not in text


def test_docs_facts_are_those_of_the_code() -> None:
    rows = {
        "Title": Document._meta.get_field("title").max_length,
        "File name": Document._meta.get_field("file_name").max_length,
        "Recipient’s name": Recipient._meta.get_field("name").max_length,
        "E-mail address": Recipient._meta.get_field("email").max_length,
        "Reason for declining": Recipient._meta.get_field("decline_reason").max_length,
        "Recipients of a document": MAX_RECIPIENTS,
        "Documents or events on a page": LIMIT_MAX,
        "Webhook endpoints of a workspace": policy.MOST_ENDPOINTS,
        "Active keys of a workspace": keys.MOST_ACTIVE,
        "Your response to a webhook": round(policy.ATTEMPT_SECONDS),
    }
    shown = dict(re.findall(r'<th scope="row">(.*?)</th><td>([\d,]+)', text_of("/limits")))
    assert {row: shown[row] for row in rows} == {row: f"{most:,}" for row, most in rows.items()}
    assert f"{REQUESTS_PER_MINUTE} requests a minute" in text_of("/limits")
    for text in (text_of("/limits"), SCHEMA["info"]["description"]):
        assert "fixed minutes of its own" in text
    events = " ".join(text_of("/events").split())
    assert f"Events are kept for {KEEP_DAYS} days, and a cursor works as long" in events
    assert f"the events of {KEEP_DAYS - feed.LEAST.days} days ago" in events


def test_docs_reference_has_all_that_the_openapi_document_has() -> None:
    for item in (*SCHEMA["paths"].values(), *SCHEMA["webhooks"].values()):
        [operation] = item.values()
        text = text_of(f"/reference/{operation['operationId']}")
        named = [each["name"] for each in operation["parameters"]]
        assert re.findall("<dt><code>(.*?)</code> <span>(?:query|path|header),", text) == named
    names = re.findall("<dt><code>(.*?)</code> <span>", text_of("/reference/get_document"))
    for schema in ("WorkspaceDocument", "Recipient", "Progress", "Links"):
        assert set(SCHEMA["components"]["schemas"][schema]["properties"]) <= set(names)
    headers = re.findall('<th scope="row"><code>(.*?)</code>', text_of("/reference/headers"))
    assert set(headers) == set(SCHEMA["components"]["headers"])


def test_docs_page_is_where_other_urls_redirect_to() -> None:
    for path in ("/", "/api/docs/"):
        response = Client().get(path)
        assert (response.status_code, response["Location"]) == (302, PAGE)


def test_unknown_paths_like_that_of_the_docs_page_are_json() -> None:
    for path in ("/api/docs.json", "/api/docsx", "/api/DOCS"):
        response = Client().get(path)
        assert response.status_code == 404, path
        assert response.json() == golden("no_path")


def test_unknown_docs_page_is_a_page_with_what_its_address_may_mean() -> None:
    for path in ("/x", "/pages/", "/reference", "/webhooks%00", f"/{'x' * 2000}"):
        response = Client().get(f"{PAGE}{path}")
        assert response.status_code == 404, path
        assert response["Content-Type"] == "text/html; charset=utf-8"
        assert "The documentation has no page at this address." in response.content.decode()
    assert 'href="/api/docs/webhooks">Webhooks</a></dt>' in text_of("/webhooks/")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("retry-after wait", "Errors: Try again?"),
        ("signature five minutes", "Webhooks: Verify"),
        ("429", "Errors: All codes"),
        ("recipientStatus", "Search documents: Parameters"),
        ("MCP", "AI assistants"),
        ("python install", "Start: Library and command"),
    ],
)
def test_docs_search_finds_words_below_a_heading(words: str, found: str) -> None:
    page = html.unescape(text_of(f"/find?{urlencode({'q': words})}"))
    assert f">{found}</a></dt>" in page
    assert f'value="{words}"' in page


def test_docs_search_shows_what_was_typed_as_text() -> None:
    page = text_of("/find?q=<b>%FF%00")
    assert 'value="&lt;b&gt;' in page
    assert "No part of a page has all these words." in page
    assert "<dt>" not in text_of("/find?q=%20")


def test_docs_start_page_names_an_archive_of_the_whole_client() -> None:
    [path] = re.findall(r"dtd-client\[all\] @ http://testserver(\S+)'", html.unescape(text_of("")))
    with tarfile.open(fileobj=BytesIO(Client().get(path).content)) as tar:
        files = [each for each in tar if each.isfile()]
    folder = ROOT / "client"
    package = [each for each in (folder / "dtd").rglob("*") if each.suffix in (".py", ".typed")]
    expected = {str(each.relative_to(folder)) for each in package} | {"pyproject.toml", "README.md"}
    assert {each.name.partition("/")[2] for each in files} == expected
    assert {(each.uid, each.uname) for each in files} == {(0, "")}


def test_docs_page_commands_have_the_address_of_the_request(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["api.acme.example"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    sent = {"Host": "api.acme.example", "X-Forwarded-Proto": "https"}
    assert '"https://api.acme.example/api/v1/me"' in html.unescape(
        Client().get(PAGE, headers=sent).content.decode()
    )
    assert Client().get(PAGE, headers={"Host": "evil.example"}).status_code == 400


def test_docs_pages_files_are_served_by_this_server(pages: Server) -> None:
    texts = [text_of(path) for path in ("/webhooks", "/recipes")]
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', "".join(texts))
    assert sorted({Path(path).suffix for path in files}) == [".css", ".js", ".py", ".svg"]
    for path in files:
        head, _, body = pages.raw(request(path)).partition(b"\r\n\r\n")
        headers = head.decode().lower().split("\r\n")
        assert headers[0] == "http/1.1 200 ok", path
        assert "cache-control: max-age=315360000, public, immutable" in headers
        assert "x-content-type-options: nosniff" in headers
        if path.endswith(".py"):
            name = re.sub(r"\.[0-9a-f]{12}\.py$", ".py", Path(path).name)
            assert body == (ROOT / "examples" / name).read_bytes()
