"""Bar charts as SVG, rendered on the server, each with a table of the same numbers.

The page's policy forbids inline styles, so the colours are classes of `admin.css`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

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
    """The numbers of a day: those stacked in a bar, and parts of them that are drawn as a line."""

    day: date
    values: Mapping[str, int]  # by the names in `SERIES`
    line: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.values.values())

    @property
    def numbers(self) -> dict[str, int]:
        return {**self.values, **self.line}

    @property
    def title(self) -> str:
        """What is shown when it is pointed at: `2026-03-01: 12 successful, 1 over the limit`."""
        parts = [f"{number:,} {SERIES[name]}" for name, number in self.numbers.items() if number]
        return f"{self.day}: {', '.join(parts) or 'none'}"


def _grid(highest: int) -> list[int]:
    """The numbers of the grid's lines from below: up to three round ones, the last the top."""
    power = 1
    while highest > 30 * power:
        power *= 10
    step = next(each * power for each in (1, 2, 5, 10) if highest <= 3 * each * power)
    return list(range(step, highest + step, step))


def _rectangles(bar: Bar, highest: int) -> Iterator[tuple[str, float, float]]:
    """The series of a bar from below, each with its y and its height."""
    top = HEIGHT
    for name, number in bar.values.items():
        if number:
            height = number / highest * HEIGHT
            top -= height
            yield name, round(top, 2), round(height, 2)


def bar_chart(bars: Sequence[Bar], *, label: str, small: bool = False) -> SafeString:
    """HTML: the bars from left to right, and below them a table that shows the same numbers.

    At least one number must not be 0. A small chart has no table; its label must have the numbers.
    """
    names = list(bars[0].numbers)
    highest = max(bar.total for bar in bars)
    grid = [] if small else _grid(highest)
    top = highest if small else grid[-1]
    used = [name for name in names if any(bar.numbers[name] for bar in bars)]
    quarters = sorted({round(part * (len(bars) - 1) / 4) for part in range(5)})
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
                    for name in bars[0].line
                    if name in used
                ],
                "grid": [(f"{number:,}", round(100 - number / top * 100, 2)) for number in grid],
                "ticks": [
                    (f"{bars[index].day:%m-%d}", round((index + 0.5) / len(bars) * 100, 2))
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
