"""Charts as inline SVG, rendered on the server.

The page's policy forbids inline styles, so the style sheet has the colours, by classes.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString


class Bar(NamedTuple):
    """The numbers of a day or an hour, such as "28 Oct", from below."""

    when: str
    numbers: tuple[int, ...]


def bar_chart(
    bars: Sequence[Bar], *, label: str, names: dict[str, str], small: bool = False
) -> SafeString:
    """HTML: the bars from left to right; "" if fewer than two have a number.

    Args:
        label: what the chart shows, for those who do not see it.
        names: what the numbers are, such as "refused", and their colours, such as "warn".
        small: for a cell of a table; it has no axis.
    """
    heights = [sum(bar.numbers) for bar in bars]
    if sum(height > 0 for height in heights) < 2:
        return SafeString("")
    context = {
        "bars": [_drawn(bar, names) for bar in bars],
        "highest": max(heights),
        "label": label,
        "small": small,
        "ticks": [bars[0].when, bars[len(bars) // 2].when, bars[-1].when],
    }
    return SafeString(render_to_string("admin/chart.html", context).strip())


def _drawn(bar: Bar, names: dict[str, str]) -> tuple[Any, ...]:
    """When, in words, and its parts: their colours, where they begin and how high they are."""
    words = [f"{n:,} {name}" for name, n in zip(names, bar.numbers, strict=True) if n]
    starts = accumulate(bar.numbers[:-1], initial=0)
    parts = list(zip(names.values(), starts, bar.numbers, strict=True))
    return bar.when, ", ".join(words) or "none", parts
