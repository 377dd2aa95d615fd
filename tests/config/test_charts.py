"""Bar charts: the same numbers as a picture and as a table."""

import re
from html.parser import HTMLParser

import pytest

from config.console.charts import Bar, bar_chart

DAYS = [
    Bar("2026-03-01", {"ok": 8, "limited": 2}, url="?day=1&page=2"),
    Bar("2026-03-02", {"ok": 0, "limited": 0}),
    Bar("2026-03-03", {"ok": 1234, "limited": 0}),
]


def heights(html: str, series: str) -> list[float]:
    """The heights of a series' rectangles, 0 to 100."""
    found = re.findall(rf'<rect class="series-{series}" x="[\d.]+".*?height="([\d.]+)"', html)
    return [float(each) for each in found]


def test_chart_draws_each_number_in_proportion_to_the_highest_bar() -> None:
    html = bar_chart(DAYS, label="Requests")
    assert heights(html, "ok") == [pytest.approx(8 / 1234 * 100, abs=0.01), 100]
    assert heights(html, "limited") == [pytest.approx(2 / 1234 * 100, abs=0.01)]


def test_chart_has_a_table_of_the_same_numbers() -> None:
    html = bar_chart(DAYS, label="Requests")
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', html, re.DOTALL)
    numbers = [re.findall(r">(\d+)</td>", cells) for _, cells in rows]
    assert numbers == [["8", "2"], ["0", "0"], ["1234", "0"]]
    assert "over the limit (429)" in html


def test_chart_that_is_small_is_one_picture_without_links() -> None:
    html = bar_chart(DAYS, label="10 requests", small=True)
    assert 'role="img" aria-label="10 requests"' in html
    assert "<a " not in html
    assert "<table" not in html


@pytest.mark.parametrize("bars", [[], [Bar("2026-03-01", {"ok": 0})]])
def test_chart_of_nothing_has_no_rectangles(bars: list[Bar]) -> None:
    assert heights(bar_chart(bars, label="Requests"), "ok") == []


def test_chart_needs_no_inline_style_and_escapes_its_texts() -> None:
    html = bar_chart([Bar("<b>", {"ok": 1}, url='"><script>')], label='"<i>')
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(html)
    assert not {"b", "i", "script", "style"} & set(tags)
    assert "style=" not in html
