"""check_files finds stored files that are missing or damaged, and goes on where it was stopped."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from audit.models import Action, AuditEntry
from documents import storage
from documents.integrity import BATCH
from documents.models import StoredFile
from tests.support import factories, server
from tests.support.factories import Tenant, pdf
from tests.support.proxy import Proxy, failing_after, with_206
from tests.support.server import PATIENCE, ROOT, eventually

pytestmark = pytest.mark.service

MANY = BATCH + 10  # files

Line = dict[str, Any]


@pytest.fixture
def store() -> Iterator[Proxy]:
    """The way to object storage of a command in a process of its own."""
    proxy = Proxy(os.environ["S3_ENDPOINT_URL"])
    yield proxy
    proxy.stop()


def check(*words: str) -> tuple[list[Line], Line, int]:
    """The findings of the command, its summary, and its exit status."""
    out, status = io.StringIO(), 0
    try:
        call_command("check_files", "--rate", "1000", *words, stdout=out, stderr=io.StringIO())
    except CommandError as exc:
        status = exc.returncode
    *findings, summary = map(json.loads, out.getvalue().splitlines())
    return findings, summary, status


def start(store: Proxy, **environment: str) -> "subprocess.Popen[str]":
    """Starts the command in a process of its own."""
    database = {"DATABASE_URL": server.test_database_url(), "S3_ENDPOINT_URL": store.url}
    return subprocess.Popen(
        [sys.executable, "manage.py", "check_files", "--rate", "1000"],
        cwd=ROOT,
        env={**os.environ, **database, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def put(file: StoredFile, content: bytes) -> None:
    """Overwrites the object, which the service never does."""
    storage.save(io.BytesIO(content), file.object_key)


def content(file: StoredFile) -> bytes:
    return b"".join(storage.read(file.object_key))


def damages() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=Action.FILE_DAMAGED).order_by("id"))


def unchecked() -> int:
    return StoredFile.objects.filter(checked_at=None).count()


def test_check_files_reads_every_file_once_within_the_days(acme: Tenant) -> None:
    factories.document(acme.workspace, "COMPLETED")
    factories.document(acme.workspace, deleted_at=timezone.now())
    factories.stored(pdf("replaced"))  # no document has it
    size = sum(StoredFile.objects.values_list("size", flat=True))
    everything: Any = [], {"checked": 5, "bytes": size, "wrong": 0}, 0
    nothing: Any = [], {"checked": 0, "bytes": 0, "wrong": 0}, 0
    assert check() == everything
    assert check() == nothing
    assert check("--days", "0") == everything
    StoredFile.objects.update(checked_at=timezone.now() - timedelta(days=29))
    assert check() == nothing
    assert check("--days", "29") == everything
    assert damages() == []


@pytest.mark.parametrize("kind", ["changed", "longer", "empty", "missing"])
def test_check_files_names_a_damaged_or_missing_file_at_each_run(acme: Tenant, kind: str) -> None:
    factories.document(acme.workspace)
    document = factories.document(acme.workspace, "COMPLETED", title="Lease")
    file = document.signed
    assert file is not None
    before = content(file)
    found: str | None = None
    if kind == "missing":
        storage.delete([file.object_key])
        problem = "missing"
    else:
        now = {"changed": before[:-1] + b"?", "longer": before + b"?", "empty": b""}[kind]
        put(file, now)
        found = hashlib.sha256(now).hexdigest()
        problem = f"damaged: SHA-256 is {found}"
        if kind != "changed":
            problem = f"has {len(now)} bytes instead of {len(before)}"
    finding = {
        "object": file.object_key,
        "problem": problem,
        "expected_sha256": file.sha256,
        "found_sha256": found,
        "documents": [{"document": str(document.pk), "file_type": "signed"}],
    }
    first, second = check(), check()
    assert (first[0], first[1]["checked"], first[1]["wrong"], first[2]) == ([finding], 4, 1, 1)
    assert (second[0], second[1]["checked"], second[1]["wrong"], second[2]) == ([finding], 1, 1, 1)
    [entry] = damages()
    assert (entry.workspace_id, entry.workspace_name) == (acme.workspace.pk, "Acme")
    assert (entry.document_id, entry.document_title) == (document.pk, "Lease")
    assert (entry.file_type, entry.file_sha256) == ("signed", file.sha256)
    assert entry.detail == problem


def test_check_files_records_a_file_again_that_is_damaged_after_a_good_check(
    acme: Tenant,
) -> None:
    file = factories.document(acme.workspace).original
    good = content(file)
    for entries in (1, 2):
        put(file, good[:-1] + b"?")
        for _ in range(2):
            assert check("--days", "0")[2] == 1
            assert (len(damages()), unchecked()) == (entries, 1)
        put(file, good)
        assert check()[2] == 0
        assert (len(damages()), unchecked()) == (entries, 0)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
@pytest.mark.django_db(transaction=True)
def test_check_files_that_is_ended_goes_on_where_it_was(
    store: Proxy, number: signal.Signals
) -> None:
    """When it is killed, after its last batch."""
    for _ in range(MANY):
        factories.stored(pdf("many"))
    store.silence_after(BATCH + 5)
    process = start(store)
    assert eventually(lambda: store.silent and unchecked() == MANY - BATCH)
    process.send_signal(number)
    store.restore()
    out, err = process.communicate(timeout=PATIENCE)
    left = MANY - BATCH
    if number == signal.SIGTERM:
        left -= 5
        assert process.returncode == 128 + number
        last = "CommandError: Stopped; run it again: it goes on from here."
        assert (out, err.splitlines()[-1]) == ("", last)
    assert unchecked() == left
    assert check()[1]["checked"] == left
    assert unchecked() == 0


def test_check_files_reads_below_its_rate(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    factories.stored(b"%PDF" + bytes(2_000_000))
    slept: list[float] = []
    monkeypatch.setattr("documents.integrity.sleep", slept.append)
    call_command("check_files", "--rate", "1", stdout=io.StringIO())
    assert sum(slept) > 2


def breaks_off_in_a_body() -> Callable[[bytes], bytes]:
    passed = 0

    def alter(block: bytes) -> bytes:
        nonlocal passed
        passed += len(block)
        if passed > 1_000_000:
            raise ConnectionResetError
        return with_206(block)

    return alter


@pytest.mark.parametrize(
    ("alter", "environment", "left"),
    [
        (lambda: failing_after(0), {}, 3),
        (lambda: failing_after(2), {}, 1),
        (breaks_off_in_a_body, {}, 2),
        (None, {"S3_SECRET_ACCESS_KEY": "wrong"}, 3),
        (None, {"S3_BUCKET": "no-such-bucket"}, 3),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_check_files_stops_when_object_storage_is_out_of_reach_or_refuses(
    store: Proxy, alter: Any, environment: dict[str, str], left: int
) -> None:
    for _ in range(3):
        factories.stored(b"%PDF" + bytes(800_000))
    if alter:
        store.alter = alter()
    out, err = (process := start(store, **environment)).communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, "")
    last = err.splitlines()[-1]
    assert last.startswith("CommandError: Object storage: object ")
    assert last.endswith("run it again: it goes on from here.")
    assert unchecked() == left
    assert damages() == []


@pytest.mark.parametrize("words", [["--rate", "0"], ["--days", "-1"], ["--rate", "fast"]])
def test_check_files_refuses_numbers_that_make_no_sense(db: None, words: list[str]) -> None:
    with pytest.raises(CommandError, match="must be at least|invalid int value"):
        call_command("check_files", *words)
