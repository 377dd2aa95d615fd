"""manage.py verify_audit names whatever an owner of the database changes, with any means."""

import io
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from audit.models import AuditEntry, Checkpoint, Leaf
from audit.sealing import guards
from audit.sealing.keys import PrivateKey, public_keys
from audit.sealing.leaves import NAMES, data_of, hash_of
from audit.sealing.sealer import Sealer
from audit.sealing.state import leaf_of
from audit.sealing.verify import Verifier
from config.connections import fetch
from config.management.progress import Progress
from config.management.shutdown import Shutdown
from tests.support import roles, seals
from tests.support.seals import KEY, as_owner, forget, written
from tests.support.server import eventually


def wait_for_older_transactions() -> None:
    """Where one runs, of other tests too, a checkpoint says that older entries may follow."""
    [[end]] = fetch("SELECT pg_snapshot_xmax(pg_current_snapshot())::text", [])
    ended = "SELECT 1 WHERE pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8"
    assert eventually(lambda: fetch(ended, [end]))


def seal(*counts: int) -> list[int]:
    """Writes and seals entries, so many at a time; returns the ids of all entries."""
    for count in counts:
        written(count)
        wait_for_older_transactions()
        call_command("seal_audit")
    return list(AuditEntry.objects.order_by("id").values_list("id", flat=True))


def problems(*words: str) -> list[str]:
    """What verify_audit prints if the log is damaged; empty if it is intact."""
    output = io.StringIO()
    error = ""
    try:
        call_command("verify_audit", *words, stdout=output)
    except CommandError as exc:
        error = str(exc)
    lines = [line for line in output.getvalue().splitlines() if not line.startswith("Warning: ")]
    if error:
        assert error == f"The audit log is damaged. Problems: {len(lines)}."
        return lines
    assert lines[0].startswith("The audit log is intact: ")
    return []


CHANGED = "Entry {} was changed or moved after it was sealed (leaf {})."


def test_an_intact_log_is_said_to_be_intact(witness: Path) -> None:
    output = io.StringIO()
    seal(3, 2)
    written()
    call_command("verify_audit", "--checkpoint", str(witness), stdout=output)
    newest = Checkpoint.objects.latest("size")
    said = f"5 sealed entries up to {newest.sealed_at:%Y-%m-%d %H:%M:%S} UTC, 1 not sealed yet"
    assert output.getvalue() == f"The audit log is intact: {said}.\n"
    assert AuditEntry.objects.get(action="audit.verified").detail == said


@pytest.mark.parametrize(
    "change",
    [
        "created_at = created_at - interval '1 microsecond'",
        "workspace_id = gen_random_uuid()",
        "person = person || chr(8203)",
    ],
)
def test_each_change_of_a_column_is_found(witness: Path, change: str) -> None:
    last = seal(3)[-1]
    as_owner(f"UPDATE audit_auditentry SET {change} WHERE id = {last}")
    assert problems() == [CHANGED.format(last, 2)]
    damaged = AuditEntry.objects.get(action="audit.verification_failed")
    assert damaged.detail.startswith("1 problems; 3 sealed entries")


def test_the_data_of_a_leaf_are_the_same_bytes_for_ever() -> None:
    columns = dict.fromkeys(NAMES, "") | {
        "id": 463,
        "created_at": datetime(2026, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=1))),
        "action": "document.downloaded",
        "workspace_id": UUID("0E4F1C1C-7A5C-4C0B-9E7D-2B6B0C3D4E5F"),
        "key_id": None,
        "detail": " ",
        "document_title": '\x01\x1f\x7f\b\t\n\f\r"\\/\u2028é😀',
    }
    assert data_of(columns.values()).decode() == (
        '{"action":"document.downloaded","created_at":"2026-03-01T08:30:00.000000Z","detail":" ",'
        '"document_title":"\\u0001\\u001f\x7f\\b\\t\\n\\f\\r\\"\\\\/\u2028é😀","id":463,'
        '"workspace_id":"0e4f1c1c-7a5c-4c0b-9e7d-2b6b0c3d4e5f"}'
    )
    digest = "eaca547394d52401d4b37881f6f9752a739ee8e663c9fd73a5383c5575b2b1f3"
    assert hash_of(columns.values()).hex() == digest


HONEST = ", ".join("'ada@acme.example' AS person" if n == "person" else n for n in NAMES)
# What the owner defines so that an entry that says `eve` looks as it was, and how that is undone.
BLINDS = {
    "a function": (
        "CREATE FUNCTION public.to_json(text) RETURNS json LANGUAGE sql AS $$ SELECT"
        " pg_catalog.to_json(CASE $1 WHEN 'eve' THEN 'ada@acme.example' ELSE $1 END) $$",
        "DROP FUNCTION to_json(text)",
    ),
    "a schema that comes first": (
        "CREATE SCHEMA documents; GRANT USAGE ON SCHEMA documents TO documents;"
        f"CREATE VIEW documents.audit_auditentry AS SELECT {HONEST} FROM public.audit_auditentry;"
        "GRANT SELECT ON documents.audit_auditentry TO documents",
        "DROP SCHEMA documents CASCADE",
    ),
    "an operator that comes first": (
        "CREATE FUNCTION public.audit_not(bigint, bigint) RETURNS bool LANGUAGE sql AS"
        " 'SELECT false'; CREATE OPERATOR public.= (LEFTARG = bigint, RIGHTARG = bigint,"
        " FUNCTION = audit_not); ALTER ROLE documents_owner IN DATABASE {database}"
        " SET search_path = public, pg_catalog",
        "DROP FUNCTION audit_not CASCADE;"
        " ALTER ROLE documents_owner IN DATABASE {database} RESET search_path",
    ),
}


@pytest.mark.parametrize("blind", BLINDS)
def test_the_owner_s_functions_operators_and_views_hide_no_change(
    witness: Path, blind: str
) -> None:
    ids = seal(3)
    # A role's setting for all databases would change what other tests see, in other processes.
    name = connection.settings_dict["NAME"]
    define, undo = (each.replace("{database}", name) for each in BLINDS[blind])
    as_owner(f"UPDATE audit_auditentry SET person = 'eve' WHERE id = {ids[1]}", define)
    try:
        for role in (nullcontext(), roles.as_owner()):
            with role:
                found: list[str] = []
                Verifier(public_keys(), [], found.append, Progress(print), Shutdown()).run()
                assert found == [CHANGED.format(ids[1], 1)]
                entries = AuditEntry.objects.raw("SELECT * FROM public.audit_auditentry")
                intact = {each.pk: leaf_of(each)[1] for each in entries}
                assert [intact[id] for id in ids] == [True, False, True]
                assert "can change what statements mean" in "\n".join(guards.problems())
    finally:
        as_owner(undo)


# What the owner of the database does to a log of nine entries in three seals, and what is named;
# {1} is the id of the second entry, whose leaf is 1. {hash} is the fourth one's if eve had acted.
ATTACKS: dict[str, tuple[list[str], list[str]]] = {
    "an entry is deleted with its leaf": (
        [
            "DELETE FROM audit_auditentry WHERE id = {3}",
            "DELETE FROM audit_leaf WHERE entry_id = {3}",
        ],
        ["Leaf 3 is missing, and which entry it was of is unknown."],
    ),
    "an entry is deleted": (
        ["DELETE FROM audit_auditentry WHERE id = {3}"],
        ["Entry {3} is missing"],
    ),
    "a leaf is deleted": (
        ["DELETE FROM audit_leaf WHERE entry_id = {3}"],
        ["Leaf 3 is missing", "Entry {3} was added later, or lost its leaf"],
    ),
    "leaves change places": (
        [
            "UPDATE audit_leaf SET index = -1 WHERE index = 3",
            "UPDATE audit_leaf SET index = 3 WHERE index = 5",
            "UPDATE audit_leaf SET index = 5 WHERE index = -1",
        ],
        ["Among the entries {2} to {5} (leaves 2 to 5), some were changed, added or "],
    ),
    "an entry is changed with its hash": (
        [
            "UPDATE audit_auditentry SET person = 'eve' WHERE id = {3}",
            "UPDATE audit_leaf SET hash = '\\x{hash}' WHERE entry_id = {3}",
        ],
        ["Among the entries {2} to {5} (leaves 2 to 5), some were changed, added or "],
    ),
    "a hash, which accuses no entry": (
        ["UPDATE audit_leaf SET hash = sha256('another') WHERE index = 3"],
        ["The stored hash of leaf 3 was changed; entry {3} is as it was signed."],
    ),
    "a leaf with the largest index": (
        ["UPDATE audit_leaf SET index = 9223372036854775807 WHERE index = 8"],
        [
            "Leaf 9223372036854775807, of entry {8}, is in no signed checkpoint.",
            "Leaf 8 is missing, and which entry it was of is unknown.",
        ],
    ),
    "a hash that would be in the sealer's way": (
        ["INSERT INTO audit_subtree VALUES (1, 0, ''), (8, 0, '')"],
        [f"The stored hash {n}/0 is of leaves that no signed checkpoint has." for n in (1, 8)],
    ),
    "all checkpoints": (
        ["DELETE FROM audit_checkpoint"],
        ["9 entries have leaves, but no checkpoint is signed."],
    ),
    "the newest checkpoints": (
        ["DELETE FROM audit_checkpoint WHERE size > 2"],
        [f"Leaf {n}, of entry {{{n}}}, is in no signed checkpoint." for n in range(2, 9)],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_changed_is_named(witness: Path, attack: str) -> None:
    ids = seal(2, 4, 3)
    statements, expected = ATTACKS[attack]
    entry = AuditEntry.objects.get(pk=ids[3])
    entry.person = "eve"
    forged = hash_of(getattr(entry, name) for name in NAMES).hex()
    as_owner(*(statement.format(*ids, hash=forged) for statement in statements))
    for said, each in zip(problems(), expected, strict=True):
        assert said.startswith(each.format(*ids))


def add(number: int, time: str = "now()") -> None:
    """The owner adds an entry with an id and a time of its choice."""
    as_owner(
        "INSERT INTO audit_auditentry (id, created_at, action, workspace_name, person, member,"
        " detail, key_name, key_prefix, document_title, file_type, file_sha256, byte_range,"
        f" address, user_agent, request_id) VALUES ({number}, {time}, 'login.succeeded', '',"
        " 'eve', '', '', '', '', '', '', '', '', '', '', '')"
    )


def test_an_entry_that_is_dated_back_is_named_after_it_was_sealed(witness: Path) -> None:
    added = seal(2)[0] - 1
    add(added, "now() - interval '3 days'")
    while not Leaf.objects.filter(entry_id=added).exists():
        call_command("seal_audit")
    [found] = problems()
    assert found.startswith(f"Entry {added} was dated back: it says ")


def test_entries_of_the_first_day_of_all_are_named(witness: Path) -> None:
    ids = seal(2)
    for id, hour in zip(ids, (12, 6), strict=True):
        as_owner(
            f"UPDATE audit_auditentry SET created_at = '0001-01-01 {hour}:00Z' WHERE id = {id}"
        )
    assert problems() == [CHANGED.format(id, leaf) for leaf, id in enumerate(ids)]


def test_a_log_that_was_written_anew_is_found_with_yesterday_s_checkpoint(witness: Path) -> None:
    """Without the key nobody signs it; with it, the witness's checkpoint contradicts."""
    ids = seal(3, 2)
    as_owner(
        "DELETE FROM audit_leaf",
        "DELETE FROM audit_checkpoint",
        f"UPDATE audit_auditentry SET person = 'eve' WHERE id = {ids[1]}",
    )
    seals.seal(Sealer(PrivateKey.generate(KEY.name), [], None))
    assert len(problems()) == 2  # not signed by a known key
    as_owner("DELETE FROM audit_leaf", "DELETE FROM audit_checkpoint")
    seals.seal()
    assert problems() == []  # as if it had always been so
    [found] = problems("--checkpoint", str(witness))
    assert found.startswith(f"Among the entries {ids[0]} to {ids[4]} (leaves 0 to 4), some were ")


def test_a_witness_s_checkpoint_counts_whatever_the_database_s_copy_of_it_is(witness: Path) -> None:
    """Who has the key signs a new history, but for the text that the witness has."""
    ids = seal(3)
    text, _, signature = Checkpoint.objects.get().note.rpartition("\n\n")
    as_owner(
        "DELETE FROM audit_leaf",
        "DELETE FROM audit_checkpoint",
        f"UPDATE audit_auditentry SET person = 'eve' WHERE id = {ids[1]}",
    )
    for _ in range(2):
        seals.seal()
        written()
    broken = f"{text}\n\n{signature.swapcase()}"
    as_owner(f"UPDATE audit_checkpoint SET note = '{broken}' WHERE size = 3")
    assert problems() == []
    [found] = problems("--checkpoint", str(witness))
    assert found.startswith(f"Among the entries {ids[0]} to {ids[2]} (leaves 0 to 2), some were ")


def test_a_log_that_was_truncated_is_found_with_its_last_checkpoint(witness: Path) -> None:
    seal(2, 4, 3)
    forget(6)
    found = problems("--checkpoint", str(witness))
    assert found[0].startswith("The log was truncated: the checkpoint of")


def test_a_checkpoint_of_another_key_is_refused(witness: Path, settings: Any) -> None:
    seal(3)
    settings.AUDIT_SIGNING_KEY = PrivateKey.generate(KEY.name).encode()
    with pytest.raises(CommandError, match="no known key has signed this checkpoint"):
        call_command("verify_audit", "--checkpoint", str(witness))
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    assert problems("--checkpoint", str(witness)) == []


@pytest.mark.slow
def test_a_large_log_is_verified_in_windows(witness: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.sealing.verify.WINDOW", 16)
    ids = seal(1, 40, 3, 5, 7, 30, 2, 300)
    assert problems("--checkpoint", str(witness)) == []
    as_owner(f"UPDATE audit_auditentry SET person = 'eve' WHERE id = {ids[17]}")
    assert problems("--checkpoint", str(witness)) == [CHANGED.format(ids[17], 17)]
