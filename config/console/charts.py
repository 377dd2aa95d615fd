"""Charts as inline SVG, rendered on the server.

The page's policy forbids inline styles, so the style sheet has the colours, by classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

STEP, WIDTH = 10, 8  # in units of the SVG: from bar to bar, and of a bar
HEIGHT, LEAST = 100, 2  # of the highest bar, and of a number that is not 0


@dataclass(frozen=True)
class Bar:
    """The numbers of a day or an hour, such as "28 Oct"; the second one is above it, and red."""

    when: str
    number: int
    red: int = 0

    @property
    def total(self) -> int:
        return self.number + self.red


def bar_chart(
    bars: Sequence[Bar], *, label: str, names: tuple[str, str], small: bool = False
) -> SafeString:
    """HTML: the bars from left to right; "" if fewer than two of them have a number.

    Args:
        label: what the chart shows, for those who do not see it.
        names: what the numbers of a bar are, such as "successful" and "refused".
        small: for a cell of a table; it has no axis.
    """
    if sum(bar.total > 0 for bar in bars) < 2:
        return SafeString("")
    scale = HEIGHT / max(bar.total for bar in bars)
    context = {
        "bars": [_drawn(bar, index * STEP, scale, names) for index, bar in enumerate(bars)],
        "label": label,
        "small": small,
        "width": len(bars) * STEP,
        "ticks": [bars[0].when, bars[len(bars) // 2].when, bars[-1].when],
    }
    return SafeString(render_to_string("admin/chart.html", context).strip())


def _drawn(bar: Bar, x: int, scale: float, names: tuple[str, str]) -> dict[str, object]:
    numbers = zip((bar.number, bar.red), names, strict=True)
    texts = [f"{number:,} {name}" for number, name in numbers if number]
    number, red = (max(n * scale, LEAST) if n else 0 for n in (bar.number, bar.red))
    heights = [("b", HEIGHT - number, number), ("r", HEIGHT - number - red, red)]
    return {
        "title": f"{bar.when}: {', '.join(texts) or 'none'}",
        "x": x,
        "parts": [(c, f"{max(y, 0):.1f}", f"{height:.1f}") for c, y, height in heights if height],
    }


class Part(NamedTuple):
    number: int
    text: str  # after the number: "completed"
    url: str
    colour: str  # "p1" to "p4"


def parts_bar(parts: Sequence[Part]) -> SafeString:
    """HTML: one bar, if there are several parts, and a link for each of them."""
    total, x, drawn = sum(part.number for part in parts), 0.0, []
    for part in parts:
        if not part.number:
            continue
        width = part.number / total * 100
        drawn.append((part, f"{x:.2f}", f"{width:.2f}"))
        x += width
    return SafeString(render_to_string("admin/parts.html", {"parts": drawn}).strip())
