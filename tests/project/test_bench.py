"""The benchmark calls a missed target missed."""

import pytest

from bench import report


@pytest.mark.parametrize(
    ("sign", "measured", "verdict"),
    [("≥", 0.69, "**missed**"), ("≥", 0.7, "holds"), ("≤", 0.71, "**missed**")],
)
def test_target_that_is_not_reached_is_missed(sign: str, measured: float, verdict: str) -> None:
    row = report.Row("list", "requests/s of raw Starlette", sign, 0.7, [measured])
    table, missed = report.judged([row], slack=1)
    assert verdict in table[2]
    assert len(missed) == (verdict != "holds")
