"""import_documents and complete documents: their files stay, other changes have an entry."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from audit.models import Action, AuditEntry
from documents.models import Document
from tests.documents.test_import_problems import problems
from tests.support import factories
from tests.support.database import waiting_for_lock
from tests.support.factories import Tenant, pdf, uid
from tests.support.inbox import Inbox, Value, completed, objects, sent, signer
from tests.support.server import eventually

ID = str(uid(1))
SEALED = "the files of a complete document are sealed; an import does not replace or remove them"
RECIPIENT = signer(id=str(uid(2)))


def document(**fields: Any) -> Value:
    """A complete document with fixed ids."""
    return completed(id=ID, recipients=[RECIPIENT], **fields)


def entries() -> list[tuple[str, str, str, str]]:
    """Action, detail, type and digest of the entries of complete documents, oldest first."""
    others = (Action.KEY_CREATED, Action.DOCUMENT_IMPORTED, Action.FILE_IMPORTED)
    imports = AuditEntry.objects.exclude(action__in=others)
    return list(imports.order_by("id").values_list("action", "detail", "file_type", "file_sha256"))


def test_import_refuses_to_replace_or_remove_a_sealed_file(acme: Tenant, inbox: Inbox) -> None:
    before = [document(), completed(id=str(uid(3))), completed(id=str(uid(4)))]
    inbox.write(*before)
    inbox.run(acme.workspace)
    inbox.put("other.pdf", pdf("another", 2))
    files = before[0]["files"]
    assert problems(
        inbox,
        acme,
        sent(),
        before[0] | {"files": files | {"signed": "other.pdf"}},
        before[1] | {"files": files | {"original": "other.pdf", "certificate": "other.pdf"}},
        sent(id=before[2]["id"]),
    ) == [
        f"line 2, document {ID}, files.signed: {SEALED}",
        f"line 3, document {uid(3)}, files.original, files.certificate: {SEALED}",
        f"line 4, document {uid(4)}, files.signed, files.certificate: {SEALED}",
    ]
    assert entries() == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, ""),
        ({"id": ID.upper(), "createdAt": "2026-03-01T10:00:00+01:00"}, ""),
        ({"title": "New", "completedAt": "2026-03-02T11:00:00Z"}, "title, completedAt"),
        ({"fileName": "new.pdf", "deletedAt": "2026-03-05T00:00:00Z"}, "fileName, deletedAt"),
        ({"recipients": []}, "recipients"),
        ({"recipients": [{**RECIPIENT, "name": "Zoe"}]}, "recipients"),
        ({"recipients": [RECIPIENT, signer()], "sentAt": None}, "sentAt, recipients"),
        ({"recipients": [signer()]}, "recipients"),
    ],
)
def test_import_that_changes_a_complete_document_names_the_fields(
    acme: Tenant, inbox: Inbox, changes: Value, named: str
) -> None:
    inbox.take(acme.workspace, document())
    inbox.take(acme.workspace, {**document(), **changes})
    assert entries() == ([(Action.DOCUMENT_CHANGED, named, "", "")] if named else [])


def test_import_reads_the_recipients_of_complete_documents_in_one_query(
    acme: Tenant, inbox: Inbox
) -> None:
    def queries(count: int) -> int:
        inbox.write(*(completed(id=str(uid(n))) for n in range(count)))
        inbox.run(acme.workspace)
        inbox.write(*(completed(id=str(uid(n)), title="New") for n in range(count)))
        with CaptureQueriesContext(connection) as captured:
            inbox.run(acme.workspace)
        return sum("audit_auditentry" not in query["sql"] for query in captured)

    assert queries(1) == queries(5)


@pytest.mark.django_db(transaction=True)
def test_import_does_not_replace_files_of_a_document_that_becomes_complete_meanwhile(
    acme: Tenant, inbox: Inbox
) -> None:
    old = factories.document(acme.workspace, id=ID)
    sealed = [factories.stored(pdf(name)) for name in ("signed", "certificate")]
    inbox.write(document())

    def import_it() -> str:
        try:
            inbox.run(acme.workspace)
        except CommandError as exc:
            return str(exc)
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            now = Document.objects.select_for_update(of=("self",)).get()
            now.status, now.completed_at = "COMPLETED", factories.at("2026-03-03 12:00:00")
            now.signed, now.certificate = sealed
            now.save()
            importing = pool.submit(import_it)
            assert eventually(waiting_for_lock)
        assert importing.result() == (
            "1 problem in documents.jsonl; nothing was imported.\n"
            f"line 1, document {ID}, files.signed, files.original, files.certificate: {SEALED}"
        )
    now.refresh_from_db()
    assert (now.original, now.signed, now.certificate) == (old.original, *sealed)
    assert now.original.object_key in objects()
    assert entries() == []


@pytest.mark.parametrize("field", ["title", "fileName"])
def test_import_refuses_an_api_key_in_a_text_without_repeating_it(
    acme: Tenant, inbox: Inbox, field: str
) -> None:
    value = sent(**{field: f"Lease {acme.raw}"})
    [problem] = problems(inbox, acme, value)
    name = f"Lease {acme.raw[:12]}…" if field == "title" else "Lease"
    assert problem == (
        f"line 1, document {name}, {field}: must not contain an API key; if it is in use, revoke it"
    )
    [problem] = problems(inbox, acme, sent(status=f"x {acme.raw}", id=ID))
    assert acme.raw not in problem
    assert problems(inbox, acme, sent(id=ID, files={"original": f"{acme.raw}.pdf"})) == [
        f"line 1, document {ID}, files.original: '{acme.raw[:12]}….pdf' is not there"
    ]


def test_import_accepts_the_public_part_of_a_key(acme: Tenant, inbox: Inbox) -> None:
    inbox.take(acme.workspace, sent(title=f"About {acme.raw[:12]}"))
    assert Document.objects.get().title == f"About {acme.raw[:12]}"
