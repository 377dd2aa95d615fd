"""The results as a picture: SVG."""

from collections.abc import Sequence
from html import escape
from statistics import median

from bench.comparison import Results
from bench.traffic import ENDPOINTS
from bench.variants import VARIANTS

WIDTH, NAMES, BAR, GAP = 860, 110, 16, 6  # pixels
PANEL = (WIDTH - NAMES) // 2 - 70  # of bars; the rest is for their numbers
COLOURS = {"ours": "#1a7f37", "drf": "#9a6700", "fastapi": "#0969da", "floor": "#6e7781"}
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}}"
)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{escape(text)}</text>'


def _bar(x: float, y: float, width: float, colour: str, opacity: float = 1) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.0f}" width="{width:.1f}" height="{BAR}" fill="{colour}" '
        f'fill-opacity="{opacity}"/>'
    )


def _panel(results: Results, endpoint: str, names: Sequence[str], top: int) -> list[str]:
    """One endpoint: requests a second on the left, processor time on the right."""
    found = {name: results[endpoint, name] for name in names}
    rates = {name: median(m.rate for m in rounds) for name, rounds in found.items()}
    costs = {
        name: (median(m.server_ms for m in rounds), median(m.database_ms for m in rounds))
        for name, rounds in found.items()
    }
    right = NAMES + PANEL + 80
    parts = [
        _text(0, top + 12, ENDPOINTS[endpoint].title, "title"),
        _text(NAMES, top + 12, "requests a second"),
        _text(right, top + 12, "ms of processor a request: server, database (pale)"),
    ]
    for number, name in enumerate(names):
        y = top + 22 + number * (BAR + GAP)
        rate = PANEL * rates[name] / max(rates.values())
        most = max(sum(both) for both in costs.values())
        server, database = (PANEL * part / most for part in costs[name])
        parts += [
            _text(0, y + 12, VARIANTS[name].title),
            _bar(NAMES, y, rate, COLOURS[name]),
            _text(NAMES + rate + 5, y + 12, f"{rates[name]:,.0f}"),
            _bar(right, y, server, COLOURS[name]),
            _bar(right + server, y, database, COLOURS[name], 0.45),
            _text(right + server + database + 5, y + 12, f"{sum(costs[name]):.2f}"),
        ]
    return parts


def plot(results: Results) -> str:
    """Bars for each endpoint and variant, medians."""
    endpoints = list(dict.fromkeys(endpoint for endpoint, _ in results))
    names = list(dict.fromkeys(name for _, name in results))
    height = 22 + len(names) * (BAR + GAP) + 16
    parts = [
        part
        for number, endpoint in enumerate(endpoints)
        for part in _panel(results, endpoint, names, 10 + number * height)
    ]
    total = height * len(endpoints) + 10
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 0 {WIDTH + 10} {total}" role="img" '
        f'aria-label="Requests a second and processor time of each variant">'
    )
    ground = f'<rect x="-10" width="{WIDTH + 10}" height="{total}" class="ground" fill="#fff"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", ground, *parts, "</svg>", ""])
