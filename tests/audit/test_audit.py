"""The audit log: what its entries hold. `test_append_only.py` has what the database refuses."""

from typing import Any
from uuid import UUID

import pytest
from django.forms.models import model_to_dict

from audit.models import Action, AuditEntry
from audit.record import record
from audit.snapshots import DocumentSnapshot, FileSnapshot, KeySnapshot, WorkspaceSnapshot
from tests.support import factories
from tests.support.cast import downloads, entries, path_of
from tests.support.factories import Tenant


@pytest.mark.usefixtures("as_owner")
def test_audit_entry_names_survive_what_they_named(acme: Tenant) -> None:
    document = factories.document(acme.workspace, title="Lease")
    assert acme.get(f"/documents/{document.id}/download").status == 200
    [before] = downloads()
    document.title, acme.workspace.name = "Lease, corrected", "Acme Ltd"
    document.save()
    acme.workspace.save()
    acme.get(f"/documents/{document.id}/download")
    after = downloads()[-1]
    assert (after.document_title, after.workspace_name) == ("Lease, corrected", "Acme Ltd")
    acme.key.revoke(by=acme.admin)
    acme.key.revoke(by=acme.admin)  # nothing happens
    key_id = acme.key.id
    acme.key.delete_by(by=acme.admin)
    document.recipients.all().delete()
    acme.workspace.delete()
    acme.admin.delete()
    after = downloads()[0]
    assert model_to_dict(after) == model_to_dict(before)
    assert (after.key_name, after.key_prefix) == ("Acme sync", acme.key.prefix)
    assert (after.document_title, after.workspace_name) == ("Lease", "Acme")
    life = entries(key_id=key_id, document_id=None)
    assert [entry.action for entry in life] == ["key.created", "key.revoked", "key.deleted"]
    named = {(each.person, each.key_name, each.key_prefix) for each in life}
    assert named == {("admin@acme.example", "Acme sync", acme.key.prefix)}


KEY = KeySnapshot(
    workspace_id=UUID(int=1),
    workspace_name="Acme",
    key_id=UUID(int=2),
    key_name="Nightly copy",
    key_prefix="dtd_abcdefgh",
)
# Of each fact, what it is and the columns that it fills.
GIVEN: dict[str, tuple[Any, dict[str, Any]]] = {
    "by": ("ada@acme.example", {"person": "ada@acme.example"}),
    "member": ("bob@acme.example", {"member": "bob@acme.example"}),
    "workspace": (
        WorkspaceSnapshot(workspace_id=UUID(int=1), workspace_name="Acme"),
        {"workspace_id": UUID(int=1), "workspace_name": "Acme"},
    ),
    "key": (KEY, vars(KEY)),
    "document": (
        DocumentSnapshot(document_id=UUID(int=3), document_title="Lease"),
        {"document_id": UUID(int=3), "document_title": "Lease"},
    ),
    "file": (
        FileSnapshot(file_type="signed", file_sha256="0" * 64, byte_range="0-9/20"),
        {"file_type": "signed", "file_sha256": "0" * 64, "byte_range": "0-9/20"},
    ),
    "detail": ("why", {"detail": "why"}),
}


def test_audit_record_without_a_fact_is_an_error_not_a_gap(db: None) -> None:
    for action in Action:
        facts = action.facts.split()
        given = {name.strip("()"): GIVEN[name.strip("()")][0] for name in facts}
        record(action, **given)
        stored = {column: value for name in given for column, value in GIVEN[name][1].items()}
        found = model_to_dict(entries()[-1], exclude=("id", "created_at", "action"))
        assert {name: value for name, value in found.items() if value not in ("", None)} == stored
        for name in facts:
            without = {other: value for other, value in given.items() if other != name.strip("()")}
            if name.startswith("("):
                record(action, **without)
            else:
                with pytest.raises(TypeError, match=f"needs: {name}"):
                    record(action, **without)
        for name in GIVEN.keys() - given.keys():
            with pytest.raises(TypeError, match=f"does not have: {name}"):
                record(action, **given, **{name: GIVEN[name][0]})


def test_audit_log_has_no_secret_that_was_typed_as_a_login_or_sent_as_a_user_agent(
    acme: Tenant,
) -> None:
    """`test_logs.py` has what is a secret."""
    typed, workspace = "/reset/MQ/c8-5a5a/", GIVEN["workspace"][0]
    record(Action.MEMBER_ADDED, by=typed, member=typed, workspace=workspace, detail="added")
    [entry] = entries(Action.MEMBER_ADDED)
    assert (entry.person, entry.member) == ("/reset/MQ/…/", "/reset/MQ/…/")
    document = factories.document(acme.workspace)
    assert acme.get(path_of(document), user_agent=f"curl/8 {'S' * 40}").status == 200
    assert downloads()[0].user_agent == "curl/8 SSSSSSSS…"


def test_audit_log_has_no_raw_key_whatever_named_its_entries(acme: Tenant) -> None:
    """Titles and names of workspaces come from the rest of the service."""
    document = factories.document(acme.workspace, title=f"Key: {acme.raw}, keep")
    type(acme.workspace).objects.filter(pk=acme.workspace.pk).update(name=acme.raw)
    assert acme.get(f"/documents/{document.id}/download").status == 200
    [entry] = entries(document_id=document.id)
    assert entry.document_title == f"Key: {acme.key.prefix}…, keep"
    assert entry.workspace_name == f"{acme.key.prefix}…"
    assert entry.key_prefix == acme.key.prefix
    assert acme.raw[12:] not in str(AuditEntry.objects.values())
