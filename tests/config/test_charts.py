"""Bar charts."""

from datetime import date
from html.parser import HTMLParser

from config.console.charts import Bar, bar_chart


def test_chart_has_its_numbers_needs_no_inline_style_and_escapes_its_label() -> None:
    days = [Bar(date(2026, 3, n), {"ok": 1234 * n, "limited": 0}) for n in range(3, 5)]
    html = bar_chart(days, label='"<i><script>')
    assert ">3,702</td>" in html
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(html)
    assert not {"i", "script", "style"} & set(tags)
    assert "style=" not in html
