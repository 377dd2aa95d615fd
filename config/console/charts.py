"""Bar charts as SVG, rendered on the server, each with a table of the same numbers.

The page's policy forbids inline styles, so the colours are classes of `admin.css`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.text import slugify

STEP, GAP, HEIGHT = 10.0, 2.0, 100.0  # in units of the SVG: a bar's place, between bars, the area

SERIES = {
    "ok": "successful",
    "errors": "errors",
    "limited": "over the limit",
    "downloads": "downloads",
}


@dataclass(frozen=True)
class Bar:
    """One bar: the numbers of a day, stacked in their order.

    Attributes:
        label: its name in the table, such as `2026-03-01`.
        values: a number for each series, by the names in `SERIES`.
        line: the same for series that are drawn as a line, which are parts of the others.
    """

    label: str
    values: Mapping[str, float]
    line: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(self.values.values())

    @property
    def numbers(self) -> dict[str, float]:
        """All of them."""
        return {**self.values, **self.line}

    @property
    def title(self) -> str:
        """What is shown when it is pointed at: `2026-03-01: 12 successful, 1 over the limit`."""
        parts = [f"{number:,} {SERIES[name]}" for name, number in self.numbers.items() if number]
        return f"{self.label}: {', '.join(parts) or 'none'}"

    @property
    def tick(self) -> str:
        """The label below the axis, without the year."""
        return self.label[5:] if self.label[4:5] == "-" else self.label


def _grid(highest: float) -> list[float]:
    """The numbers of the grid's lines from below: up to three round ones, the last the top."""
    if not highest:
        return []
    least = highest / 3
    power = 10 ** math.floor(math.log10(least))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= least)
    if isinstance(highest, int):
        step = max(1, round(step))
    return [round(step * each, 6) for each in range(1, math.ceil(round(highest / step, 6)) + 1)]


def _rectangles(bar: Bar, highest: float) -> Iterator[tuple[str, float, float]]:
    """The series of a bar from below, each with its y and its height."""
    top = HEIGHT
    for name, number in bar.values.items():
        if number:
            height = number / highest * HEIGHT
            top -= height
            yield name, round(top, 2), round(height, 2)


def bar_chart(bars: Sequence[Bar], *, label: str, small: bool = False) -> SafeString:
    """HTML: the bars from left to right, and below them a table that shows the same numbers.

    Args:
        label: what the chart shows, for those who cannot see it.
        small: a sparkline: without the table; the label must say the numbers that matter.
    """
    names = list(bars[0].numbers) if bars else []
    lines = list(bars[0].line) if bars else []
    highest = max((max(bar.total, *bar.line.values(), 0) for bar in bars), default=0)
    grid = [] if small else _grid(highest)
    top = grid[-1] if grid else highest
    used = [name for name in names if any(bar.numbers[name] for bar in bars)]
    quarters = sorted({round(part * (len(bars) - 1) / 4) for part in range(5)} if bars else ())
    return SafeString(
        render_to_string(
            "admin/chart.html",
            {
                "label": label,
                "id": f"chart-{slugify(label)}",
                "small": small,
                "places": [
                    {"bar": bar, "x": index * STEP, "rectangles": _rectangles(bar, top)}
                    for index, bar in enumerate(bars)
                ],
                "lines": [
                    (
                        name,
                        " ".join(
                            f"{(index + 0.5) * STEP},{HEIGHT - bar.line[name] / top * HEIGHT:.2f}"
                            for index, bar in enumerate(bars)
                        ),
                    )
                    for name in lines
                    if name in used
                ],
                "grid": [(f"{number:,}", round(100 - number / top * 100, 2)) for number in grid],
                "ticks": [
                    (bars[index].tick, round((index + 0.5) / len(bars) * 100, 2))
                    for index in quarters
                ],
                "width": len(bars) * STEP,
                "height": HEIGHT,
                "bar_width": STEP - GAP,
                "series": [(name, SERIES[name]) for name in names],
                "legend": [(name, SERIES[name]) for name in used],
                "rows": [
                    (bar, [(SERIES[name], f"{bar.numbers[name]:,}") for name in names])
                    for bar in bars
                ],
            },
        )
    )
