"""Evidence files from the admin: for everybody who sees the document's entries, and nobody else."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from audit import sending
from audit.models import Action, AuditEntry
from audit.sealing.tree import TreeDamaged
from documents.models import Document
from tests.support.cast import entries, page_of, path_of, sent_until
from tests.support.factories import Tenant
from tests.support.seals import as_owner, seal
from tests.support.staff import DOCUMENTS, body, member, operator, signed_in, support

pytestmark = pytest.mark.usefixtures("transactional_db", "sealing")


@pytest.fixture
def lease(acme: Tenant, lease: Document) -> Document:
    """The document, which was downloaded."""
    assert acme.get(path_of(lease)).status == 200
    return lease


def url_of(document_id: object) -> str:
    return reverse("admin:documents_document_evidence", args=[document_id])


def downloaded(user: User, document_id: object) -> Any:
    """The evidence that the user gets."""
    response: Any = signed_in(user).get(url_of(document_id))
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    name = f"evidence-{document_id}.json"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    assert "no-store" in response["Cache-Control"]
    return json.loads(b"".join(response.streaming_content))


@pytest.mark.parametrize("who", ["admin", "support", "operator"])
def test_evidence_is_sent_by_get_to_everybody_who_sees_the_audit_log_and_to_no_member(
    lease: Document, acme: Tenant, who: str
) -> None:
    seal()
    max = signed_in(member(acme.workspace, "max@acme.example"))
    assert max.get(url_of(lease.id)).status_code == 403
    user = {"admin": lambda: acme.admin, "support": support, "operator": operator}[who]()
    client = signed_in(user)
    for method in (client.post, client.head, client.delete):
        assert method(url_of(lease.id)).status_code == 405
    [entry] = downloaded(user, lease.id)["entries"]
    assert url_of(lease.id) in body(client.get(page_of(lease)))
    assert url_of(lease.id) not in body(client.get(f"{DOCUMENTS}?q={lease.id}"))
    assert entry["entry"]["action"] == "document.downloaded"
    [exported] = entries(Action.EVIDENCE_EXPORTED)
    assert exported.person == user.username
    assert (exported.document_id, exported.workspace_name) == (lease.id, "Acme")
    assert exported.detail == "1 entries with proof, 0 not sealed yet"
    assert exported.address == "127.0.0.1"
    assert exported.request_id


def test_evidence_that_turns_out_to_be_damaged_ends_with_one_sentence(
    lease: Document, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("documents.evidence.BATCH", 1)
    assert acme.get(path_of(lease)).status == 200
    seal()
    last = AuditEntry.objects.filter(document_id=lease.id).latest("id").pk
    as_owner(f"UPDATE audit_auditentry SET key_name = 'Another' WHERE id = {last}")
    text = sent_until(TreeDamaged, signed_in(acme.admin).get(url_of(lease.id)))
    assert text.endswith(sending.BROKEN_OFF)
    assert text.count("not whole") == 1
