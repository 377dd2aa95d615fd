"""examples/verify_evidence.py: what is proven, and what is wrong with a file that is not valid."""

import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.models import Action, AuditEntry, Checkpoint
from audit.record import record
from audit.sealing.keys import PrivateKey
from documents.models import Document
from tests.support import factories
from tests.support.evidence import verify
from tests.support.examples import path_of
from tests.support.factories import Tenant
from tests.support.inbox import Inbox, completed
from tests.support.seals import KEY, seal
from tests.support.server import ROOT

pytestmark = pytest.mark.usefixtures("transactional_db")
PROGRAM = runpy.run_path(path_of("verify_evidence"))
NOT_VALID = PROGRAM["NotValid"]
of_one_file = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture
def lease(acme: Tenant) -> Document:
    """A complete document whose files were downloaded."""
    document = factories.document(acme.workspace, "COMPLETED")
    for each in ("signed", "original", "signed"):
        assert acme.get(f"/documents/{document.id}/download?type={each}").status == 200
        record(Action.LOGIN, by="ada@acme.example")
    return document


@pytest.fixture
def file(lease: Document, tmp_path: Path, settings: Any) -> Path:
    """Its evidence."""
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    seal()
    path = tmp_path / "evidence.json"
    call_command("export_evidence", str(lease.id), output=path)
    return path


def check(path: Path) -> None:
    PROGRAM["check"](PROGRAM["read"](path), PROGRAM["Key"].parse(str(KEY.public)))


def changed(file: Path, change: Callable[[Any], object]) -> tuple[int, str]:
    """What the program says of a file with a change."""
    evidence = json.loads(file.read_bytes())
    change(evidence)
    file.write_text(json.dumps(evidence))
    return verify(file)


def test_a_pdf_is_compared_with_the_document_s_files_and_its_sealed_entries(
    acme: Tenant, lease: Document, file: Path
) -> None:
    signed = file.parent / "signed.pdf"
    signed.write_bytes(acme.get(f"/documents/{lease.id}/download").body)
    status, printed = verify(file, "--file", str(signed))
    assert status == 0
    assert printed.startswith(f"VALID. Proven for the document {lease.id}:\n")
    assert "signed.pdf is unchanged: it is a file of the document, of type signed. " in printed
    signed.write_bytes(signed.read_bytes() + b"\n")
    status, printed = verify(file, "--file", str(signed))
    assert status == 1
    assert printed.startswith(f"NOT VALID: {signed}: no sealed entry names this file")


NOTHING_SAYS: dict[str, dict[str, Any]] = {
    "digests of other actions": {"action": "document.viewed", "file_sha256": "{}"},
    "a word of a detail": {"action": "document.changed", "detail": "title {}"},
}


def test_a_pdf_is_not_proven_by_a_digest_that_is_no_file_of_the_document(
    acme: Tenant, lease: Document, file: Path
) -> None:
    forged = file.parent / "forged.pdf"
    for case, facts in NOTHING_SAYS.items():
        content = f"%PDF-1.7 {case}".encode()
        forged.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        AuditEntry.objects.create(
            workspace_id=acme.workspace.id,
            document_id=lease.id,
            file_type="signed",
            **{name: value.replace("{}", digest) for name, value in facts.items()},
        )
        seal()
        call_command("export_evidence", str(lease.id), output=file)
        evidence = json.loads(file.read_bytes())
        evidence["files"].append({"type": "signed", "sha256": digest})
        file.write_text(json.dumps(evidence))
        status, printed = verify(file, "--file", str(forged))
        assert status == 1, case
        assert "no sealed entry names this file" in printed, case


def test_an_imported_pdf_is_proven_until_another_one_comes_without_an_entry(
    inbox: Inbox, acme: Tenant, tmp_path: Path, settings: Any
) -> None:
    """Somebody changed the database and the object, or left out the entry of the replacement."""
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    inbox.take(acme.workspace, completed(id=str(factories.uid(1))))
    path = tmp_path / "evidence.json"
    seal()
    call_command("export_evidence", str(factories.uid(1)), output=path)
    status, printed = verify(path, "--file", "signed.pdf", "--file", "original.pdf")
    assert (status, printed.count("(document.file_imported, ")) == (0, 2)
    document = Document.objects.get()
    document.signed = factories.stored(b"%PDF-1.7 forged")
    document.save()
    inbox.put("forged.pdf", acme.get(f"/documents/{document.id}/download").body)
    seal()
    call_command("export_evidence", str(document.id), output=path)
    status, printed = verify(path, "--file", "forged.pdf")
    assert status == 1
    assert "NOT VALID: forged.pdf: the entries contradict each other. After another file" in printed
    assert verify(path, "--file", "signed.pdf")[0] == 0


def leaves_of(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of each text and number in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[tuple[Any, Any]] = []
    for key, each in items:
        found += leaves_of(each) if isinstance(each, dict | list) else [(value, key)]
    return found


def test_any_other_value_in_an_entry_a_proof_or_the_checkpoint_is_not_valid(file: Path) -> None:
    original = file.read_bytes()
    other = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just([]))

    @of_one_file
    @given(st.data())
    def check_one(data: st.DataObject) -> None:
        evidence = json.loads(original)
        places = [(evidence, "checkpoint"), *leaves_of(evidence["entries"])]
        container, key = data.draw(st.sampled_from(places))
        before = container[key]
        value = data.draw(other.filter(lambda value: json.dumps(value) != json.dumps(before)))
        container[key] = value
        file.write_text(json.dumps(evidence))
        with pytest.raises(NOT_VALID):
            check(file)

    check_one()


FORGER = PrivateKey.generate(KEY.name)
WITNESS = PrivateKey.generate("witness.example")
# From the signed text to the note, and the exit status.
CHECKPOINTS: dict[str, tuple[Callable[[str], str], int]] = {
    "of an earlier release": (lambda text: KEY.sign(text[: text.index("complete to ")]), 0),
    "with a witness's signature": (
        lambda text: KEY.sign(text) + WITNESS.sign(text).rpartition("\n\n")[2],
        0,
    ),
    "signed by a forger, whose key is in the file": (FORGER.sign, 1),
    "with half a signature": (lambda text: KEY.sign(text).replace("\n\n— ", "\n\n"), 1),
}


def test_a_checkpoint_must_be_signed_with_the_key(file: Path) -> None:
    original = file.read_bytes()
    for name, (change, wanted) in CHECKPOINTS.items():
        evidence = json.loads(original)
        text = evidence["checkpoint"].rpartition("\n\n")[0] + "\n"
        evidence.update(checkpoint=change(text), public_key=str(FORGER.public))
        file.write_text(json.dumps(evidence))
        status, printed = verify(file)
        assert status == wanted, name
        problem = "The checkpoint is not signed with this public key, or was changed."
        assert (problem in printed) == bool(wanted), name


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "an entry twice": (
        lambda found: found["entries"].insert(1, found["entries"][0]),
        "its index is not in the log, or the entry is there twice",
    ),
    "another document's entries": (
        lambda found: found.update(document_id=str(factories.uid(7)), document=None),
        "it is not about this document",
    ),
    "no proof": (lambda found: found["entries"][0].pop("proof"), "it was changed, or its proof"),
    "half a surrogate": (
        lambda found: found["entries"][0]["entry"].update(detail="\ud800"),
        "it has no canonical form",
    ),
    "a document id for a terminal": (
        lambda found: found.update(document_id="\x1b[2J", document=None, entries=[], unsealed=[]),
        'The "document_id" is not a UUID.',
    ),
    "another format": (lambda found: found.update(format="document-evidence/2"), "of the format"),
}


def test_a_wrong_file_is_not_valid_and_the_reason_is_a_sentence(file: Path) -> None:
    original = file.read_bytes()
    for wrong, (change, text) in WRONG.items():
        file.write_bytes(original)
        status, printed = changed(file, change)
        assert (status, printed.count("\n")) == (1, 1), wrong
        assert printed.startswith("NOT VALID: "), wrong
        assert text in printed, wrong


def test_malformed_input_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    for content in (
        b"",
        b"\xff\xfe\x00",
        b"{" * 100_000,
        b'{"format": "document-evidence/1"',
        b'{"format": 1, "format": "document-evidence/1"}',
        b'{"a": ' + b"9" * 10_000 + b"}",
    ):
        file.write_bytes(content)
        status, printed = verify(file)
        assert (status, printed.count("\n")) == (1, 1), content[:50]
        assert printed.startswith("NOT VALID: "), content[:50]


def test_evidence_page_s_commands_check_a_real_file(
    acme: Tenant, lease: Document, file: Path
) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "evidence.md").read_text(), re.S)
    installed, _, script = "".join(blocks).partition("\n")
    assert installed == "pip install cryptography"  # it is, with this Python
    download = acme.get(f"/documents/{lease.id}/download").body
    (file.parent / "signed.pdf").write_bytes(download)
    (file.parent / "witness.txt").write_text(Checkpoint.objects.get().note)
    (file.parent / "verify_evidence.py").symlink_to(path_of("verify_evidence"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", script],
        cwd=file.parent,
        env={"KEY": str(KEY.public), "PATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("VALID. ")
    assert "- signed.pdf is unchanged: it is a file of the document, of type signed." in done.stdout
    assert done.stdout.endswith("\n1\nSignature Verified Successfully\n")


def test_dtd_verify_gives_the_same_verdict_but_its_status_is_3_only_for_the_api(file: Path) -> None:
    def dtd() -> tuple[int, str]:
        words = [sys.executable, "-m", "dtd", "verify", str(file), "--key", str(KEY.public)]
        path = {"PYTHONPATH": str(ROOT / "client")}
        done = subprocess.run(words, env=path, capture_output=True, encoding="utf-8")
        return done.returncode, done.stdout

    assert dtd() == verify(file)
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"entries": []}))
    assert (verify(file)[0], dtd()) == (3, (1, verify(file)[1]))
