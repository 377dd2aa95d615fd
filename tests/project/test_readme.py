"""README says what the pages say that `make bench` and `make faults` have written."""

import re

from tests.support.server import ROOT

README = " ".join((ROOT / "README.md").read_text().split())


def test_readme_has_the_ratios_of_the_page_on_performance() -> None:
    page = (ROOT / "docs/performance.md").read_text()
    for other, words in (
        ("stock DRF", "times the requests a second of a stock Django REST framework"),
        ("raw Starlette", "times those of raw Starlette"),
    ):
        row = rf"^\| list, limit 25 \| requests/s of {other} \| ≥ [\d.]+ \| ([\d.]+) "
        [ratio] = re.findall(row, page, re.MULTILINE)
        assert re.findall(rf"([\d.]+) {words}", README) == [ratio]


def test_readme_has_the_promises_of_the_page_on_reliability() -> None:
    page = (ROOT / "docs/reliability.md").read_text()
    [held] = re.findall(r"^\*\*(\d+ of \d+) promises hold\.\*\*$", page, re.MULTILINE)
    assert re.findall(r"(\d+ of \d+) promises held", README) == [held]
    assert " downloads recorded" in page
    lost = "not in the audit log" in page
    assert ("no download was lost from the audit log" in README) == (not lost)
