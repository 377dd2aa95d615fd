"""GET /api/v1/documents/{id}/download: the file, its headers, and the entry in the audit log."""

import io
import os
from typing import Any

import pytest
from django.db import connection
from django.forms.models import model_to_dict
from django.utils import timezone
from pypdf import PdfReader

from documents.models import Document
from tests.support import factories
from tests.support.cast import downloads, path_of, problem_with, started
from tests.support.client import golden
from tests.support.factories import Tenant, pdf, uid
from tests.support.server import Server, eventually

TYPE_EXPECTED = "one of signed, original, certificate"
TYPES = (None, "signed", "original", "certificate")


@pytest.mark.parametrize("status", Document.Status.values)
def test_download_of_each_status_has_its_files_and_its_default(acme: Tenant, status: str) -> None:
    complete = status == "COMPLETED"
    document = factories.document(acme.workspace, status, title="Lease")
    sent = []
    for file_type in TYPES:
        parameters = f"{file_type}&format=json&Type=x&limit=0" if file_type else None  # unknown
        response = acme.get(path_of(document, parameters))
        if not complete and file_type in ("signed", "certificate"):
            assert response.status == 404
            assert response.json() == golden("not_complete")
            continue
        expected = file_type or ("signed" if complete else "original")
        assert response.status == 200
        assert response.body == pdf(f"Lease: {expected}", 1 if expected == "certificate" else 2)
        text = PdfReader(io.BytesIO(response.body)).pages[0].extract_text()
        assert f"Lease: {expected}" in text
        sent.append(expected)
    assert [entry.file_type for entry in downloads()] == sent


def test_download_of_an_unknown_type_is_400_also_for_an_unknown_document(acme: Tenant) -> None:
    for id in (factories.document(acme.workspace).id, uid(999)):
        for sent in (
            "",
            "pdf",
            "Signed",
            "%20signed",
            "signed%00",
            "%FF",
            "original&type=original",
        ):
            response = acme.get(f"/documents/{id}/download?type={sent}")
            assert response.status == 400, sent
            wrong = f"The query parameter 'type' {problem_with(sent)}: it must be {TYPE_EXPECTED}."
            assert response.error == wrong
    assert downloads() == []


def test_download_does_not_negotiate_accept(acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    for accept in ("application/pdf", "application/json", "image/*", "x", "", ";"):
        response = acme.get(path_of(document), accept=accept)
        assert (response.status, response.headers["content-type"]) == (200, "application/pdf")
        missing = acme.get(f"/documents/{uid(999)}/download", accept=accept)
        assert missing.json() == golden("no_document")


def test_download_is_in_the_audit_log_under_the_key_s_name(server: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace, "COMPLETED", title="Lease")
    before = timezone.now()
    response = server.get(path_of(document, "certificate"), acme.raw, user_agent="sync/1.0")
    [entry] = downloads()
    assert before <= entry.created_at <= timezone.now()
    assert str(entry.created_at.tzinfo) == "UTC"
    facts = model_to_dict(entry, exclude=["id", "created_at"])
    assert {name: value for name, value in facts.items() if value not in ("", None)} == {
        "action": "document.downloaded",
        "workspace_id": acme.workspace.id,
        "workspace_name": "Acme",
        "key_id": acme.key.id,
        "key_name": "Acme sync",
        "key_prefix": acme.key.prefix,
        "document_id": document.id,
        "file_sha256": document.certificate and document.certificate.sha256,
        "document_title": "Lease",
        "file_type": "certificate",
        "address": "127.0.0.1",
        "user_agent": "sync/1.0",
        "request_id": response.headers["request-id"],
    }


ADDRESSES: list[tuple[int, str | None, str]] = [  # proxies, X-Forwarded-For → address
    (0, "203.0.113.9", "127.0.0.1"),
    (1, "203.0.113.9", "203.0.113.9"),
    (1, "198.51.100.1, 203.0.113.9", "203.0.113.9"),
    (2, "192.0.2.1, 198.51.100.1, 203.0.113.9", "198.51.100.1"),
    (2, "203.0.113.9", "127.0.0.1"),
    (1, "2001:db8::1", "2001:db8::1"),
    (1, "203.0.113.9, " + "x" * 500, "127.0.0.1"),
    (1, "203.0.113.9, \0", "127.0.0.1"),
    (1, "", "127.0.0.1"),
    (1, None, "127.0.0.1"),
]


def test_download_entry_has_the_address_that_trusted_proxies_vouch_for(
    acme: Tenant, settings: Any
) -> None:
    document = factories.document(acme.workspace)
    for proxies, forwarded, _ in ADDRESSES:
        settings.TRUSTED_PROXIES = proxies
        headers = {} if forwarded is None else {"x_forwarded_for": forwarded}
        assert acme.get(path_of(document), **headers).status == 200
    assert [entry.address for entry in downloads()] == [address for *_, address in ADDRESSES]


def test_download_entry_holds_any_user_agent(server: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    for agent in ("agent " * 500, "", acme.bearer, "\xe9\xff"):
        assert server.get(path_of(document), acme.raw, user_agent=agent).status == 200
    agents = [entry.user_agent for entry in downloads()]
    assert agents[:3] == [("agent " * 500)[:500], "", f"Bearer {acme.key.prefix}…"]
    assert len(agents) == 4  # what becomes of other bytes is the server's to say


@pytest.fixture
def large(acme: Tenant) -> tuple[Document, bytes]:
    """A document whose original is far larger than all buffers on its way."""
    content = os.urandom(1024 * 1024) * 96
    return factories.document(acme.workspace, content=content), content


def test_download_entry_is_there_although_the_client_hung_up_after_the_first_byte(
    server: Server, acme: Tenant, large: tuple[Document, bytes]
) -> None:
    document, content = large
    server.store.refuse()  # no connection is left from before
    server.store.restore()
    before = server.store.forwarded
    client = started(server, acme, document)
    response = client.getresponse()
    assert response.read(1) == content[:1]
    assert server.store.connections == 1
    for _ in range(20):  # other requests are served meanwhile
        assert server.get("/documents", acme.raw).status == 200
    assert server.store.forwarded - before < len(content) * 3 / 4  # the rest is not in memory
    [entry] = downloads()
    assert entry.request_id == response.headers["Request-Id"]
    response.close()
    client.close()
    assert eventually(lambda: server.store.connections == 0), "the store's connection stays open"
    assert server.store.forwarded - before < len(content) * 3 / 4
    assert len(downloads()) == 1
    assert server.get("/me", acme.raw).status == 200


@pytest.mark.usefixtures("as_owner")
def test_download_sends_no_byte_without_its_entry(server: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_auditentry RENAME TO elsewhere")
        try:
            response = server.get(path_of(document), acme.raw)
        finally:
            cursor.execute("ALTER TABLE elsewhere RENAME TO audit_auditentry")
    assert response.status == 500
    assert b"%PDF" not in response.body
