"""Who may write to the tree's tables, or owns them, cannot hide that entries are not sealed."""

from datetime import UTC, datetime
from math import inf
from typing import Any

import pytest

from audit.models import AuditEntry, Checkpoint
from audit.monitoring import read_metrics, wrong_seals
from audit.sealing import state
from audit.sealing.keys import PrivateKey
from audit.sealing.note import Horizon, Statement
from audit.sealing.sealer import SealRefused
from tests.support import roles
from tests.support.seals import KEY, as_owner, grow_older, seal, sealed_ids, written

HUGE = 4 * 10**18
# A whole checkpoint, of a key with the same name.
NOTE = PrivateKey.generate(KEY.name).sign(
    Statement(KEY.name, HUGE, bytes(32), datetime(2026, 3, 1, tzinfo=UTC), Horizon()).text()
)
FORGED = f"INSERT INTO audit_checkpoint VALUES ({HUGE}, now(), '{NOTE}')"
AHEAD = "INSERT INTO audit_leaf SELECT {index}, max(id), sha256('x') FROM audit_auditentry"


@pytest.fixture(autouse=True)
def keys(transactional_db: None, settings: Any) -> None:
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    settings.AUDIT_SIGNING_KEY = ""


def older(entry: AuditEntry, **by: float) -> None:
    with roles.as_owner():
        grow_older(entry, **by)


def warning(words: str) -> str:
    [found] = [each.msg for each in wrong_seals(state.read()) if words in each.msg]
    return found


def test_a_metric_does_not_say_that_all_is_sealed_if_no_signature_can_be_checked(
    settings: Any,
) -> None:
    def unsealed() -> float:
        [_, found] = read_metrics()
        return float(found.samples[0].value)

    written()
    seal()
    assert unsealed() == 0
    settings.AUDIT_PUBLIC_KEYS = [str(PrivateKey.generate(KEY.name).public)]
    assert unsealed() == inf
    settings.AUDIT_PUBLIC_KEYS = ["x"]
    assert unsealed() == inf
    [said] = wrong_seals(state.read())
    assert said.msg.startswith("AUDIT_PUBLIC_KEYS is not valid")


def test_an_unsigned_checkpoint_is_an_alarm_and_stops_nothing() -> None:
    written(2)
    seal()
    assert not any(wrong_seals(state.read()))
    as_owner(FORGED)
    assert f"{HUGE:,}" in warning("no known key has signed")
    [new] = written()
    assert seal() == 1
    assert new.pk in sealed_ids()
    [late] = written()
    older(late, minutes=25)
    assert "25 minutes" in warning("have waited to be sealed")


@pytest.mark.parametrize(
    ("attack", "alarm", "refusal"),
    [
        (
            [FORGED.replace(f"({HUGE}", f"({HUGE - each}") for each in range(20)],
            "no known key has signed",
            "no known key has signed the newest",
        ),
        ([AHEAD.format(index=2)], "leaves that no signed checkpoint has", "were not sealed"),
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
