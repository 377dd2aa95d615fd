from config.runtime import hints
from config.runtime.hints import Hints


def test_hints_are_kept_when_a_known_credential_changes_while_they_are_full() -> None:
    found: Hints[int] = Hints()
    for number in range(hints.MOST):
        found.set(str(number), number)
    found.set("0", 7)
    found.set("1", None)
    assert [found.get("0"), found.get("1"), found.get("2")] == [7, None, 2]


def test_hints_begin_anew_with_one_credential_too_many() -> None:
    found: Hints[int] = Hints()
    for number in range(hints.MOST + 1):
        found.set(str(number), number)
    assert [found.get("0"), found.get(str(hints.MOST))] == [None, hints.MOST]
