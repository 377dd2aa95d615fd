"""manage.py export_evidence: a document's entries in one file, with proofs."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from pymerkle import InmemoryTree

from audit.models import Action, AuditEntry, Leaf
from audit.record import record
from audit.scope import Scope
from audit.sealing.leaves import COLUMNS, data_of, read_columns
from audit.sealing.note import Statement
from audit.sealing.tree import StoredTree, leaf_hash, root_of_proof
from documents import evidence
from documents.evidence.facts import Trail
from documents.models import Document
from tests.support import factories, roles
from tests.support.database import without_triggers
from tests.support.evidence import exported, parsed, verify
from tests.support.factories import Tenant
from tests.support.seals import KEY, complete_to, seal
from tests.support.server import eventually
from workspaces.models import Workspace

pytestmark = pytest.mark.usefixtures("transactional_db", "sealing")


@pytest.fixture
def lease(acme: Tenant, transactional_db: None) -> Document:
    """A complete document that was downloaded twice, among other entries."""
    document = factories.document(acme.workspace, "COMPLETED", title='Lease "A" – 1 of 2')
    record(Action.LOGIN, by="ada@acme.example")
    for _ in range(2):
        assert acme.get(f"/documents/{document.id}/download").status == 200
    record(Action.LOGIN, by="ada@acme.example")
    return document


def entry_ids(document: Document) -> list[int]:
    """The ids of the document's entries but for exports of its evidence."""
    entries = AuditEntry.objects.filter(document_id=document.id).order_by("id")
    entries = entries.exclude(action="document.evidence_exported")
    return list(entries.values_list("id", flat=True))


def leaves(size: int) -> list[bytes]:
    """The data of all leaves, in the tree's order."""
    with transaction.atomic():
        found = read_columns(
            f"SELECT {COLUMNS} FROM audit_auditentry AS entry JOIN audit_leaf AS leaf"
            " ON leaf.entry_id = entry.id ORDER BY leaf.index",
            [],
        )
    return [data_of(columns) for columns in found][:size]


def test_evidence_has_the_document_its_files_and_each_entry_with_a_proof(
    acme: Tenant, lease: Document
) -> None:
    seal()
    found = parsed(lease.id)
    names = "format made_at document_id document files checkpoint public_key entries unsealed"
    assert list(found) == names.split()
    assert found["format"] == "document-evidence/1"
    assert found["document_id"] == found["document"]["id"] == str(lease.id)
    assert found["document"]["title"] == 'Lease "A" – 1 of 2'
    assert found["document"]["workspace"] == {"id": str(acme.workspace.id), "name": "Acme"}
    assert found["document"]["completed_at"] == "2026-03-03T12:00:00.000000Z"
    assert lease.signed is not None
    assert [each["type"] for each in found["files"]] == ["original", "signed", "certificate"]
    assert found["files"][1]["sha256"] == lease.signed.sha256
    assert found["files"][1]["size"] == lease.signed.size
    assert found["public_key"] == str(KEY.public)
    assert [each["entry"]["id"] for each in found["entries"]] == entry_ids(lease)
    assert found["unsealed"] == []
    statement = Statement.opened(found["checkpoint"], [KEY.public])
    assert statement.size == Leaf.objects.count()


def test_proofs_from_the_database_are_those_of_another_implementation_for_every_size() -> None:
    for number in range(600):
        record(Action.LOGIN, by=f"user{number}@acme.example")
    seal()
    data = leaves(600)
    other = InmemoryTree.init_from_entries(data, algorithm="sha256")
    stored = StoredTree()
    for size in range(1, 601):
        root = other.get_root(size)
        for index in {0, 255, 256, 511, 512, size // 2, size - 2, size - 1} & set(range(size)):
            proof = stored.proof(index, size)
            leaf = leaf_hash(data[index])
            assert other.prove_inclusion(index + 1, size).path == [leaf, *proof]
            assert root_of_proof(leaf, index, size, proof) == root
            assert not proof or root_of_proof(leaf, index, size, proof[:-1]) != root
            assert root_of_proof(leaf, index, size, [*proof, root]) is None


def test_evidence_export_is_in_the_audit_log_and_only_in_later_files(lease: Document) -> None:
    seal()
    before = set(AuditEntry.objects.values_list("id", flat=True))
    assert "evidence_exported" not in exported(lease.id)
    [entry] = AuditEntry.objects.exclude(id__in=before)
    assert (entry.action, entry.document_id, entry.document_title, entry.workspace_name) == (
        "document.evidence_exported",
        lease.id,
        lease.title,
        "Acme",
    )
    assert entry.detail == f"{len(entry_ids(lease))} entries with proof, 0 not sealed yet"
    assert entry.person.endswith(", by command")  # the system's user
    [later] = parsed(lease.id)["unsealed"]
    assert later["action"] == "document.evidence_exported"


def test_entries_that_are_not_sealed_come_without_a_proof_in_the_order_of_the_log(
    acme: Tenant, lease: Document, tmp_path: Path
) -> None:
    sealed = entry_ids(lease)
    seal()
    for _ in range(3):
        acme.get(f"/documents/{lease.id}/download")
    file = tmp_path / "evidence.json"
    call_command("export_evidence", str(lease.id), output=file)
    found = json.loads(file.read_bytes())
    assert [each["entry"]["id"] for each in found["entries"]] == sealed
    assert [each["id"] for each in found["unsealed"]] == entry_ids(lease)[len(sealed) :]
    status, printed = verify(file)
    assert status == 0
    assert f'- {len(found["unsealed"])} entries under "unsealed", which' in printed


def test_evidence_of_a_document_whose_row_is_gone_has_its_trail(
    lease: Document, tmp_path: Path
) -> None:
    seal()
    assert lease.signed is not None
    sha256 = lease.signed.sha256
    ids, title, document_id = entry_ids(lease), lease.title, lease.id
    lease.delete()
    found = parsed(document_id)
    assert found["document"] is None
    assert [each["entry"]["id"] for each in found["entries"]] == ids
    assert found["files"] == [{"type": "signed", "sha256": sha256, "size": None, "stored_at": None}]
    newest = AuditEntry.objects.order_by("-id")[0]
    assert (newest.document_title, newest.workspace_name) == (title, "Acme")
    (tmp_path / "evidence.json").write_text(exported(document_id))
    assert verify(tmp_path / "evidence.json")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE audit_auditentry SET key_name = 'Another' WHERE id = {id}",
        "UPDATE audit_leaf SET hash = sha256('another')",
        "DELETE FROM audit_leaf WHERE entry_id = {id}",
        "UPDATE audit_checkpoint SET note = replace(note, 'sealed at 2', 'sealed at 1')",
    ],
)
def test_evidence_of_a_damaged_log_is_refused(lease: Document, attack: str) -> None:
    assert eventually(lambda: complete_to() > entry_ids(lease)[-1])
    before = AuditEntry.objects.count()
    with roles.as_owner(), without_triggers(), connection.cursor() as cursor:
        cursor.execute(attack.format(id=entry_ids(lease)[0]))
    with pytest.raises(CommandError, match="`manage.py verify_audit`"):
        exported(lease.id)
    assert AuditEntry.objects.count() == before


def test_evidence_has_only_entries_of_the_scope(
    acme: Tenant, umbrella: Tenant, lease: Document
) -> None:
    """An id could have been another workspace's document before."""
    AuditEntry.objects.create(
        action="document.viewed", workspace_id=umbrella.workspace.id, document_id=lease.id
    )
    seal()
    scope = Scope(Workspace.objects.filter(pk=umbrella.workspace.pk))
    found = json.loads("".join(evidence.export(Trail(lease.id, scope))))
    assert found["document"] is None
    assert found["files"] == []
    assert [each["entry"]["action"] for each in found["entries"]] == ["document.viewed"]
