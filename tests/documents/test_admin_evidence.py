"""Evidence files from the admin: for everybody who sees the document's entries, and nobody else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from audit.admin.sending import BROKEN_OFF
from audit.models import AuditEntry
from documents.evidence import BATCH
from documents.models import Document
from tests.support import factories, roles
from tests.support.database import without_triggers
from tests.support.evidence import verify
from tests.support.factories import Tenant
from tests.support.seals import KEY, seal
from tests.support.server import Server, eventually, running
from tests.support.staff import HISTORY, member, operator, signed_in, support

pytestmark = pytest.mark.usefixtures("transactional_db")
EXPORTS = AuditEntry.objects.filter(action="document.evidence_exported")


@pytest.fixture(autouse=True)
def _public_key(settings: Any) -> None:
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]


@pytest.fixture
def lease(acme: Tenant) -> Document:
    """A document that was downloaded."""
    document = factories.document(acme.workspace, "COMPLETED", title="Lease <b>")
    assert acme.get(f"/documents/{document.id}/download").status == 200
    return document


def url_of(document_id: object) -> str:
    return reverse("admin:documents_document_evidence", args=[document_id])


def downloaded(user: User, document_id: object) -> Any:
    """The evidence that the user gets."""
    response: Any = signed_in(user).get(url_of(document_id))
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response["Content-Disposition"] == (
        f'attachment; filename="evidence-{document_id}.json"'
    )
    assert "no-store" in response["Cache-Control"]
    return json.loads(b"".join(response.streaming_content))


@pytest.mark.parametrize("who", ["admin", "support", "operator"])
def test_evidence_is_for_everybody_who_sees_the_audit_log(
    lease: Document, acme: Tenant, who: str
) -> None:
    seal()
    user = {"admin": lambda: acme.admin, "support": support, "operator": operator}[who]()
    [entry] = downloaded(user, lease.id)["entries"]
    assert entry["entry"]["action"] == "document.downloaded"
    exported = EXPORTS.get()
    assert exported.person == user.username
    assert (exported.document_id, exported.workspace_name) == (lease.id, "Acme")
    assert exported.detail == "1 entries with proof, 0 not sealed yet"
    assert exported.address == "127.0.0.1"
    assert exported.request_id


@pytest.mark.slow
def test_evidence_that_meets_damage_later_on_is_broken_off_and_not_valid(
    lease: Document, acme: Tenant, tmp_path: Path
) -> None:
    facts = {"workspace_id": acme.workspace.id, "document_id": lease.id}
    AuditEntry.objects.bulk_create(
        AuditEntry(action="document.viewed", **facts) for _ in range(BATCH)
    )
    seal()
    with roles.as_owner(), without_triggers(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE audit_auditentry SET key_name = 'Another'"
            " WHERE id = (SELECT max(id) FROM audit_auditentry)"
        )
    name = settings.SESSION_COOKIE_NAME
    session = signed_in(acme.admin).cookies[name].value
    with running(Server(tmp_path, ROLE="pages", AUDIT_PUBLIC_KEYS=str(KEY.public))) as server:
        response = server.request(url_of(lease.id), Cookie=f"{name}={session}")
        assert eventually(lambda: "does not match the signed checkpoint" in server.log())
    file = tmp_path / "evidence.json"
    file.write_bytes(response.body)
    assert b"does not match the signed checkpoint.\n" in response.body
    assert response.body.endswith(BROKEN_OFF.encode())
    status, printed = verify(file)
    assert status == 1
    assert "perhaps it was cut off" in printed
    assert EXPORTS.count() == 1
    with pytest.raises(CommandError, match="does not match"):
        call_command("export_evidence", str(lease.id), output=tmp_path / "whole.json")
    assert not (tmp_path / "whole.json").exists()


def test_evidence_of_a_document_that_is_gone_is_for_its_workspace_s_admin(
    lease: Document, acme: Tenant, umbrella: Tenant
) -> None:
    seal()
    document_id = lease.id
    lease.delete()
    assert downloaded(acme.admin, document_id)["document"] is None
    assert signed_in(umbrella.admin).get(url_of(document_id)).status_code == 404


def test_evidence_is_closed_to_all_others_and_only_sent_by_get(
    lease: Document, acme: Tenant
) -> None:
    seal()
    closed = signed_in(member(acme.workspace, "max@acme.example")).get(url_of(lease.id))
    assert closed.status_code == 403
    assert b"Lease" not in closed.content
    assert Client().get(url_of(lease.id))["Location"].startswith("/admin/login/")
    client = signed_in(acme.admin)
    for method in (client.post, client.head, client.delete):
        assert method(url_of(lease.id)).status_code == 405
    assert not EXPORTS.exists()


def damage() -> None:
    seal()
    with roles.as_owner(), without_triggers(), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_auditentry SET key_name = 'Another'")


@pytest.mark.parametrize(
    ("most", "prepare", "said"),
    [
        (10, lambda: None, "manage.py seal_audit"),
        (10, damage, "manage.py verify_audit"),
        (0, seal, "manage.py export_evidence "),
    ],
    ids=["before the first seal", "of a damaged log", "of too many entries"],
)
def test_evidence_that_cannot_be_made_is_a_message(
    lease: Document,
    acme: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    prepare: Callable[[], object],
    said: str,
) -> None:
    monkeypatch.setattr("documents.evidence.views.MOST", most)
    prepare()
    response: Any = signed_in(acme.admin).get(url_of(lease.id), follow=True)
    assert response.redirect_chain == [(f"{HISTORY}?document_id__exact={lease.id}", 302)]
    page = response.content.decode()
    assert "No evidence file was made." in page
    assert said in page
    assert not EXPORTS.exists()


def test_evidence_is_linked_from_the_document(lease: Document) -> None:
    page = reverse("admin:documents_document_change", args=[lease.id])
    assert f'href="{url_of(lease.id)}"' in signed_in(support()).get(page).content.decode()
