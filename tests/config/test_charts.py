"""Bar charts: the same numbers as a picture and as a table."""

import re
from datetime import date
from html.parser import HTMLParser

from config.console.charts import Bar, bar_chart

DAYS = [
    Bar(date(2026, 3, 1), {"ok": 8, "limited": 2}),
    Bar(date(2026, 3, 2), {"ok": 0, "limited": 0}),
    Bar(date(2026, 3, 3), {"ok": 1234, "limited": 0}),
]


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
