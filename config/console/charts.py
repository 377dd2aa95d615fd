"""Bar charts as SVG, rendered on the server, each with a table of the same numbers.

The page's policy forbids inline styles, so the colours are classes of `admin.css`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

STEP, GAP, HEIGHT = 10.0, 2.0, 100.0  # in units of the SVG: a bar's place, between bars, the area

SERIES = {
    "ok": "successful",
    "errors": "errors",
    "limited": "over the limit (429)",
    "downloads": "downloads",
    "other": "other entries",
}


@dataclass(frozen=True)
class Bar:
    """One bar: the numbers of a day or an hour, stacked in their order.

    Attributes:
        label: its name in the table, and under the first and the last bar.
        values: a number for each series, by the names in `SERIES`.
        url: where a click on it leads; "" for nowhere.
    """

    label: str
    values: Mapping[str, int]
    url: str = ""

    @property
    def total(self) -> int:
        return sum(self.values.values())

    @property
    def title(self) -> str:
        """The tooltip: `2026-03-01: 12 successful, 1 over the limit (429)`."""
        parts = [f"{number:,} {SERIES[name]}" for name, number in self.values.items() if number]
        return f"{self.label}: {', '.join(parts) or 'none'}"


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

    Args:
        label: what the chart shows, for those who cannot see it.
        small: a sparkline: without the table and links; the label must say the numbers that matter.
    """
    names = list(bars[0].values) if bars else []
    highest = max((bar.total for bar in bars), default=0)
    return SafeString(
        render_to_string(
            "admin/chart.html",
            {
                "label": label,
                "small": small,
                "places": [
                    {"bar": bar, "x": index * STEP, "rectangles": _rectangles(bar, highest)}
                    for index, bar in enumerate(bars)
                ],
                "has_links": not small and any(bar.url for bar in bars),
                "width": len(bars) * STEP,
                "height": HEIGHT,
                "step": STEP,
                "bar_width": STEP - GAP,
                "series": [(name, SERIES[name]) for name in names],
                "rows": [(bar, [bar.values[name] for name in names]) for bar in bars],
                "highest": highest,
            },
        )
    )
