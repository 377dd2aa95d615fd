"""manage.py seal_audit: every entry gets one leaf, whatever commits late, crashes or runs twice."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from audit.models import AuditEntry, Checkpoint, Subtree
from audit.sealing import sealer as sealing
from audit.sealing.keys import PrivateKey
from audit.sealing.note import Statement, read_notes, signer
from audit.sealing.sealer import Sealer, SealRefused
from audit.sealing.tree import StoredTree
from tests.support.seals import KEY, check_tree, complete_to, forget, seal, sealed_ids, written
from tests.support.server import ROOT, eventually

pytestmark = pytest.mark.usefixtures("transactional_db")


def all_ids() -> list[int]:
    return list(AuditEntry.objects.order_by("id").values_list("id", flat=True))


@pytest.fixture
def other() -> Iterator[psycopg.Connection]:
    """Another connection of the serving role, whose transaction stays open."""
    database = connection.settings_dict
    names = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    values = {option: database[name] for option, name in names.items()}
    with psycopg.connect(dbname=database["NAME"], **values) as opened:
        yield opened
        opened.rollback()


INSERT = (
    "INSERT INTO audit_auditentry (action, workspace_name, person, member, detail, key_name,"
    " key_prefix, document_title, file_type, file_sha256, byte_range, address, user_agent,"
    " request_id) VALUES ('login.succeeded', '', %s, '', '', '', '', '', '', '', '', '', '', '')"
)


def test_entries_are_sealed_in_the_order_of_their_ids() -> None:
    assert seal() == 0
    assert not Checkpoint.objects.exists()
    written(3)
    assert seal() == 3
    assert seal() == 0
    written(2)
    assert seal() == 2
    assert sealed_ids() == all_ids()
    assert [each.size for each in Checkpoint.objects.order_by("size")] == [3, 5]
    check_tree()


def test_a_late_commit_is_sealed_too(other: psycopg.Connection) -> None:
    other.execute(INSERT, ["late"])
    for _ in range(3):  # the horizon must not pass the open transaction
        written(2)
        assert seal() == 2
    late = set(range(1, max(all_ids()))) - set(all_ids())
    other.commit()
    written()
    assert seal() == 2
    assert sealed_ids()[-2] in late
    assert sorted(sealed_ids()) == all_ids()
    assert eventually(lambda: complete_to() > min(late))
    check_tree()


def test_a_long_backlog_is_sealed_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "BATCH", 100)
    written(601)
    one = Sealer(KEY, [], None)
    assert [seal(one) for _ in range(8)] == [100] * 6 + [1, 0]
    assert sealed_ids() == all_ids()
    assert Subtree.objects.count() == 2
    check_tree()


def test_several_sealers_add_each_entry_once() -> None:
    stop = threading.Event()

    def repeat(step: Callable[[], object]) -> None:
        try:
            while not stop.is_set():
                step()
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        repeated = [pool.submit(repeat, step) for step in (seal, seal, seal, written)]
        stop.wait(2)
        stop.set()
    assert [each.exception() for each in repeated] == [None] * 4
    seal()
    assert sorted(sealed_ids()) == all_ids()
    check_tree()


def environment(folder: Path) -> dict[str, str]:
    """The variables of a `seal_audit` on the tests' database, with a file as its witness."""
    return {
        **os.environ,
        "DATABASE_URL": os.environ["DATABASE_URL"].rpartition("/")[0]
        + f"/{connection.settings_dict['NAME']}",
        "AUDIT_SIGNING_KEY": KEY.encode(),
        "AUDIT_WITNESSES": f"stdout,file:{folder / 'checkpoints'}",
    }


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# `seal_audit --follow`, with many more seals.
OFTEN = """
import django
django.setup()
from audit.sealing import sealer
sealer.SEAL_EVERY = 0.1
from django.core.management import call_command
call_command("seal_audit", "--follow")
"""


@pytest.mark.slow
def test_seal_audit_loses_nothing_when_killed(tmp_path: Path) -> None:
    moments = random.Random(15)  # noqa: S311 - moments, not secrets
    for _ in range(5):
        one = start(tmp_path, "-c", OFTEN)
        end = time.monotonic() + moments.uniform(1.2, 2.2)
        while time.monotonic() < end:
            written(5)
        one.send_signal(signal.SIGKILL)
        one.communicate()
    done = start(tmp_path, "manage.py", "seal_audit")
    _, errors = done.communicate(timeout=60)
    assert done.returncode == 0, errors
    assert sorted(sealed_ids()) == all_ids()
    check_tree()
    with (tmp_path / "checkpoints").open() as file:
        notes = list(read_notes(file))
    stated = [Statement.opened(note, [KEY.public]) for note in notes]
    tree = StoredTree()
    assert [each.root for each in stated] == [tree.frontier(each.size).root() for each in stated]
    assert stated[-1].size == len(all_ids())


def test_seal_audit_does_not_show_a_key_that_is_not_valid(settings: Any) -> None:
    settings.AUDIT_SIGNING_KEY = KEY.encode()[:-4]
    with pytest.raises(CommandError, match="AUDIT_SIGNING_KEY is not valid") as refused:
        call_command("seal_audit")
    assert KEY.encode()[-30:-4] not in str(refused.value)


def test_a_failing_witness_stops_none(witness: Path, settings: Any) -> None:
    settings.AUDIT_WITNESSES = [f"file:{witness.parent}", f"file:{witness}"]
    written()
    for _ in range(2):  # the second one has nothing new
        with pytest.raises(CommandError, match="A witness has not received"):
            call_command("seal_audit")
        assert witness.read_text() == Checkpoint.objects.get().note


def test_a_new_key_signs_on_if_the_old_one_is_known() -> None:
    written()
    seal()
    new = PrivateKey.generate(KEY.name)
    written()
    with pytest.raises(SealRefused, match="no known key"):
        seal(Sealer(new, [], None))
    assert seal(Sealer(new, [KEY.public], None)) == 1
    newest = Checkpoint.objects.order_by("-size")[0]
    assert signer(newest.note, [new.public])


def test_a_restored_database_is_sealed_on_demand(witness: Path) -> None:
    written(3)
    call_command("seal_audit")
    written(2)
    call_command("seal_audit")
    forget(3)
    written()
    with pytest.raises(CommandError, match="--after-restore"):
        call_command("seal_audit")
    call_command("seal_audit", "--after-restore")
    restored = AuditEntry.objects.get(action="audit.restored")
    assert restored.detail.startswith("sealed before: 5 entries, root ")
    written()
    call_command("seal_audit")
    assert sorted(sealed_ids()) == all_ids()
    check_tree()


def test_a_restore_is_recorded_although_no_witness_knows_what_was_lost(witness: Path) -> None:
    call_command("seal_audit", "--after-restore")
    restored = AuditEntry.objects.get(action="audit.restored")
    assert restored.detail == "sealed before: no witness says what"
