"""GET /api/v1/documents/{id}/download: the file, its headers, and the entry in the audit log."""

import os
from typing import Any
from urllib.request import urlopen

import pytest
from django.forms.models import model_to_dict
from django.utils import timezone

from documents.models import DocumentStatus
from tests.support import factories
from tests.support.cast import downloads, path_of, problem_with, started
from tests.support.client import golden
from tests.support.database import renamed
from tests.support.factories import Tenant, pdf, uid
from tests.support.proxy import HOST, Proxy
from tests.support.server import Server, eventually

TYPE_EXPECTED = "one of signed, original, certificate"
TYPES = (None, "signed", "original", "certificate")


@pytest.fixture(params=[False, True], ids=["in process", "by nginx"])
def by_nginx(request: pytest.FixtureRequest, settings: Any) -> bool:
    settings.X_ACCEL_DOWNLOADS = request.param
    return bool(request.param)


@pytest.mark.parametrize("status", DocumentStatus.values)
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
        sent.append(expected)
    assert [entry.file_type for entry in downloads()] == sent


def test_download_of_an_unknown_type_is_400_also_for_an_unknown_document(acme: Tenant) -> None:
    unknown = ("", "pdf", "Signed", "%20signed", "signed%00", "%FF", "original&type=original")
    for id in (factories.document(acme.workspace).id, uid(999)):
        for sent in unknown:
            response = acme.get(f"/documents/{id}/download?type={sent}")
            assert response.status == 400, sent
            wrong = f"The query parameter 'type' {problem_with(sent)}: it must be {TYPE_EXPECTED}."
            assert response.error == wrong
    assert downloads() == []


def test_download_is_in_the_audit_log_under_the_key_s_name(
    acme: Tenant, by_nginx: bool, settings: Any
) -> None:
    settings.TRUSTED_PROXIES = 1
    document = factories.document(acme.workspace, "COMPLETED", title="Lease")
    assert document.certificate
    before = timezone.now()
    sent = {"range": "bytes=7-8", "user_agent": "sync/1.0", "x_forwarded_for": "203.0.113.9"}
    response = acme.get(path_of(document, "certificate"), **sent)
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
        "file_sha256": document.certificate.sha256,
        "document_title": "Lease",
        "file_type": "certificate",
        "byte_range": f"7-8/{document.certificate.size}",
        "address": "203.0.113.9",
        "user_agent": "sync/1.0",
        "request_id": response.headers["request-id"],
    }


def test_download_entry_holds_any_user_agent(acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    for agent in ("agent " * 500, "", acme.bearer, "\xe9\xff"):
        assert acme.get(path_of(document), user_agent=agent).status == 200
    stored = [("agent " * 500)[:500], "", f"Bearer {acme.key.prefix}…", "\xe9\xff"]
    assert [entry.user_agent for entry in downloads()] == stored


def test_download_by_nginx_is_a_redirect_to_a_url_that_can_be_used_for_half_a_minute(
    acme: Tenant, settings: Any
) -> None:
    document = factories.document(acme.workspace, content=b"%PDF-1.7")
    plain = acme.get(path_of(document)).headers
    settings.X_ACCEL_DOWNLOADS = True
    whole = acme.get(path_of(document))
    part = acme.get(path_of(document), range="bytes=1-3")
    for response in (whole, part):
        assert (response.status, response.body) == (200, b"")
        for name in ("accept-ranges", "cache-control", "content-disposition"):
            assert response.headers[f"x-file-{name}"] == plain[name]
            assert name not in response.headers
        assert response.headers["etag"] == plain["etag"]
        assert "content-type" not in response.headers
        location = response.headers["x-accel-redirect"]
        assert "X-Amz-Expires=30&" in location
        assert location.startswith(f"/_storage/{HOST}:")
        with urlopen(location.replace("/_storage/", "http://", 1)) as stored:  # noqa: S310
            assert stored.read() == b"%PDF-1.7"
    assert part.headers["x-storage-range"] == "bytes=1-3"
    assert "x-storage-range" not in whole.headers
    assert [entry.byte_range for entry in downloads()] == ["", "", "1-3/8"]


@pytest.mark.parametrize("how", ["out of reach", "an error", "no object", "another size"])
def test_download_that_object_storage_cannot_send_is_503_and_no_entry(
    acme: Tenant,
    by_nginx: bool,
    way_to_storage: Proxy,
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    """The reason begins alike, by which pages know whose fault it was."""
    document = factories.document(acme.workspace)
    if how == "out of reach":
        way_to_storage.refuse()
    if how == "an error":
        error = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"
        way_to_storage.alter = lambda block: error
    if how == "no object":
        document.original.object_key = "none/there.pdf"
    if how == "another size":
        document.original.size += 1
    document.original.save()
    part = {"range": "bytes=0-9"}
    for method, headers in (("GET", {}), ("GET", part), ("HEAD", {})):
        response = acme.get(path_of(document), method, **headers)
        assert (response.status, response.headers["retry-after"]) == (503, "5")
        assert response.body == b"" or response.json() == golden("unavailable")
    assert downloads() == []
    assert caplog.text.count("Responded 503: object storage") == 3
    assert ("object storage responded with an error" in caplog.text) == (how == "an error")


@pytest.mark.usefixtures("as_owner")
def test_download_sends_no_byte_without_its_entry(
    acme: Tenant,
    by_nginx: bool,
    transactional_db: None,
    way_to_storage: Proxy,
    caplog: pytest.LogCaptureFixture,
) -> None:
    document = factories.document(acme.workspace, content=bytes(30_000_000))
    with renamed("audit_auditentry"):
        response = acme.get(path_of(document))
    assert response.status == 500
    assert response.json() == golden("server_error")
    # The log keeps the traceback, and so all that was not closed.
    assert any(record.exc_info for record in caplog.records)
    if not by_nginx:
        assert eventually(lambda: way_to_storage.connections == 0)


def test_download_entry_is_there_although_the_client_hung_up_after_the_first_byte(
    server: Server, acme: Tenant
) -> None:
    content = os.urandom(1024 * 1024) * 96  # far larger than all buffers on its way
    document = factories.document(acme.workspace, content=content)
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
