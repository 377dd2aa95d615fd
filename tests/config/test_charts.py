"""Bar charts: the same numbers as a picture and as a table."""

import re
from datetime import date
from html.parser import HTMLParser

import pytest

from config.console.charts import Bar, bar_chart

DAYS = [
    Bar(date(2026, 3, 1), {"ok": 8, "limited": 2}),
    Bar(date(2026, 3, 2), {"ok": 0, "limited": 0}),
    Bar(date(2026, 3, 3), {"ok": 1234, "limited": 0}),
]


def heights(html: str, series: str) -> list[float]:
    """The heights of a series' rectangles, 0 to 100."""
    found = re.findall(rf'<rect class="series-{series}" x="[\d.]+".*?height="([\d.]+)"', html)
    return [float(each) for each in found]


def test_chart_draws_each_number_in_proportion_to_its_scale() -> None:
    html = bar_chart(DAYS, label="Requests")
    assert heights(html, "ok") == [pytest.approx(each / 1500 * 100, abs=0.01) for each in (8, 1234)]
    assert heights(html, "limited") == [pytest.approx(2 / 1500 * 100, abs=0.01)]
    small = bar_chart(DAYS, label="Requests", small=True)
    assert max(heights(small, "ok")) == 100


def test_chart_draws_a_part_of_the_others_as_a_line_and_leaves_zeros_out_of_its_legend() -> None:
    days = [Bar(date(2026, 3, n), {"ok": 3, "errors": 0}, line={"downloads": n}) for n in (1, 3)]
    html = bar_chart(days, label="Requests")
    assert re.findall(r'class="line-downloads" points="(.*?)"', html) == ["5.0,66.67 15.0,0.00"]
    assert "2026-03-03: 3 successful, 3 downloads<" in html
    legend = html[html.index('<ul class="legend">') :]
    assert "errors" not in legend[: legend.index("</ul>")]
    assert ">03-01</text>" in html
    assert "legend" not in bar_chart([Bar(date(2026, 3, 1), {"ok": 3})], label="Requests")


def test_chart_has_a_table_of_the_same_numbers() -> None:
    html = bar_chart(DAYS, label="Requests")
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', html, re.DOTALL)
    numbers = [re.findall(r">([\d,]+)</td>", cells) for _, cells in rows]
    assert numbers == [["8", "2"], ["0", "0"], ["1,234", "0"]]
    assert "over the limit" in html


def test_chart_needs_no_inline_style_and_escapes_its_label() -> None:
    html = bar_chart(DAYS, label='"<i><script>')
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(html)
    assert not {"i", "script", "style"} & set(tags)
    assert "style=" not in html
