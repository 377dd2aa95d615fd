"""Who may write to the tree's tables, or owns them, cannot hide that entries are not sealed."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command

from audit.models import AuditEntry, Checkpoint
from audit.sealing import state
from audit.sealing.keys import PrivateKey
from audit.sealing.note import Horizon, Statement
from audit.sealing.sealer import SealRefused
from tests.support import roles, seals
from tests.support.seals import KEY, as_owner, grow_older, seal, sealed_ids, written

HUGE = 4 * 10**18
# A whole checkpoint, of a key with the same name.
NOTE = PrivateKey.generate(KEY.name).sign(
    Statement(KEY.name, HUGE, bytes(32), datetime(2026, 3, 1, tzinfo=UTC), Horizon()).text()
)
FORGED = f"INSERT INTO audit_checkpoint VALUES ({HUGE}, now(), '{NOTE}', {HUGE}, {HUGE}, 0)"
AHEAD = "INSERT INTO audit_leaf SELECT {index}, max(id), sha256('x') FROM audit_auditentry"


@pytest.fixture(autouse=True)
def keys(transactional_db: None, settings: Any) -> None:
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    settings.AUDIT_SIGNING_KEY = ""


def older(entry: AuditEntry, **by: float) -> None:
    with roles.as_owner():
        grow_older(entry, **by)


def warning(words: str) -> str:
    [found] = [each for each in state.read().warnings() if words in each]
    return found


def test_an_unsigned_checkpoint_is_an_alarm_and_stops_nothing() -> None:
    written(2)
    seal()
    assert state.read().warnings() == []
    as_owner(FORGED)
    assert f"{HUGE:,}" in warning("no known key has signed")
    [new] = written()
    assert seal() == 1
    assert new.pk in sealed_ids()
    [late] = written()
    older(late, minutes=25)
    assert state.read().sealed == 3
    assert "25 minutes" in warning("have waited to be sealed")


@pytest.mark.parametrize(
    ("attack", "alarm", "refusal"),
    [
        (
            [FORGED.replace(f"({HUGE}", f"({HUGE - each}") for each in range(20)],
            "no known key has signed",
            "no known key has signed the newest",
        ),
        ([FORGED.replace(f"({HUGE}", "(3")], "no known key has signed", "that were not sealed"),
        ([AHEAD.format(index=2)], "leaves that no signed checkpoint has", "were not sealed"),
        ([AHEAD.format(index=10**12)], "leaves that no signed checkpoint has", "were not sealed"),
        (["DELETE FROM audit_leaf WHERE index = 1"], "has lost leaves", "The tree is damaged"),
        (["UPDATE audit_leaf SET hash = sha256('x') WHERE index = 1"], "", "verify_audit"),
        (["UPDATE audit_checkpoint SET size = 1"], "", "verify_audit"),
        (["UPDATE audit_checkpoint SET note = replace(note, '2', '1')"], "", "verify_audit"),
    ],
)
def test_what_somebody_else_writes_to_the_tree_is_an_alarm_and_is_not_signed(
    attack: list[str], alarm: str, refusal: str
) -> None:
    written(2)
    seal()
    written()
    as_owner(*attack)
    assert not alarm or warning(alarm)
    before = Checkpoint.objects.count()
    with pytest.raises(SealRefused, match=refusal):
        seal()
    assert Checkpoint.objects.count() == before


@pytest.mark.parametrize("column", ["complete_to", "next_complete_to"])
def test_the_horizon_is_what_was_signed_whatever_its_columns_say(column: str) -> None:
    written(2)
    seal()
    as_owner(f"UPDATE audit_checkpoint SET {column} = {HUGE}")
    [entry] = written()
    older(entry, minutes=25)
    assert warning("have waited to be sealed")
    assert seal() == 1
    [another] = written()
    assert seal() == 1
    assert sealed_ids()[-2:] == [entry.pk, another.pk]


def test_a_public_key_that_is_not_valid_is_an_alarm(settings: Any) -> None:
    settings.AUDIT_PUBLIC_KEYS = ["CHANGE-ME"]
    assert warning("AUDIT_PUBLIC_KEYS is not valid")


def test_damage_lasts_until_the_operator_has_settled_it(settings: Any) -> None:
    seals.verified()
    assert not state.read().damaged
    seals.found_damaged()
    found = state.read()
    assert found.damaged
    assert found.verified_at == found.damaged_at
    seals.verified()
    assert state.read().damaged
    assert state.read().verified_at == state.read().intact_at
    assert f"AUDIT_DAMAGE_SETTLED={found.damaged_at:%Y-%m-%dT%H:%M:%SZ}" in warning("is damaged")
    for text in ("", "yes", "2999-01-01T00:00:00Z"):
        settings.AUDIT_DAMAGE_SETTLED = text
        assert state.read().damaged
    settings.AUDIT_DAMAGE_SETTLED = f"{found.damaged_at:%Y-%m-%dT%H:%M:%SZ}"
    assert not state.read().damaged


# --- What verify_audit says of entries that were sealed late


def verified() -> tuple[str, str]:
    """The warnings, and the last line."""
    output = io.StringIO()
    call_command("verify_audit", stdout=output)
    *warnings, last = output.getvalue().splitlines()
    assert last.startswith("The audit log is intact: ")
    return "\n".join(warnings), last


def resealed(entry: AuditEntry, **by: float) -> None:
    """An entry, not sealed yet, is older; then it is sealed."""
    older(entry, **by)
    seal()


def test_entries_from_before_sealing_began_are_no_warning() -> None:
    """They are told as a fact; one that is sealed late after that is a warning."""
    for entry in (entries := written(3))[:2]:
        older(entry, hours=30)
    older(entries[2], seconds=-2)  # after sealing began, whose time is in whole seconds
    seal()
    since = f"{Checkpoint.objects.get().sealed_at:%Y-%m-%d %H:%M}"
    for _ in range(2):
        warnings, last = verified()
        assert warnings == ""
        assert last.endswith(f", sealed since {since} UTC (2 are older).")
    [late] = written()
    older(late, hours=3)
    seal()
    assert f"Among the entries {late.pk} to {late.pk} " in verified()[0]
    assert entries[2].pk < late.pk


def test_only_entries_that_were_sealed_late_are_named_and_are_no_damage() -> None:
    _, second = written(2)
    older(second, seconds=-2)  # after sealing began, whose time is in whole seconds
    seal()
    resealed(written()[0], seconds=state.LATE_SECONDS - 60)
    assert verified()[0] == ""
    entries = written(3)
    for entry in entries[:2]:
        older(entry, hours=3, seconds=30)
    seal()
    written(2)
    seal()
    warnings, last = verified()
    assert warnings == (
        f"Warning: Among the entries {entries[0].pk} to {entries[1].pk} (leaves 4 to 5), 2 were "
        "sealed up to 180 minutes after they were written. Who owns the database could have "
        "changed them meanwhile, and nothing would show it."
    )
    assert last.endswith(", 2 sealed late.")
    entry = AuditEntry.objects.filter(action="audit.verified").latest("id")
    assert entry.detail.endswith(", 2 sealed late")
