"""The benchmark calls a missed target missed, and measures what operators install."""

import pytest

from bench import report
from bench.servers import OURS, THREADS, VARIANTS


@pytest.mark.parametrize(
    ("sign", "measured", "verdict"),
    [("≥", 0.69, "**missed**"), ("≥", 0.7, "holds"), ("≤", 0.71, "**missed**")],
)
def test_target_that_is_not_reached_is_missed(sign: str, measured: float, verdict: str) -> None:
    row = report.Row("list", "requests/s of raw Starlette", sign, 0.7, [measured])
    table, missed = report.judged([row], slack=1)
    assert verdict in table[2]
    assert len(missed) == (verdict != "holds")


def test_service_is_measured_with_the_threads_of_the_unit() -> None:
    assert VARIANTS[OURS].command.endswith(f"--blocking-threads {THREADS}")
