"""Pictures of what keys do: a sparkline in the list, and a bar for each day on a key's page."""

from collections.abc import Sequence

from django.utils.safestring import SafeString

from apikeys.usage.report import Day, total
from config.console.charts import Bar, bar_chart


def summary(days: Sequence[Day]) -> str:
    """The numbers of a sparkline: "1,204 requests, 3 errors, 6 over the limit"."""
    usage = total(days)
    requests, errors, limited = usage.requests, usage.errors, usage.limited
    if not requests:
        return "no requests"
    parts = [f"{requests:,} request{'' if requests == 1 else 's'}"]
    if errors:
        parts.append(f"{errors:,} error{'' if errors == 1 else 's'}")
    if limited:
        parts.append(f"{limited:,} over the limit")
    return ", ".join(parts)


def sparkline(days: Sequence[Day]) -> SafeString:
    """A small chart of the days, or nothing if there were no requests."""
    return _chart(days, label=f"{len(days)} days: {summary(days)}", small=True)


def month(days: Sequence[Day]) -> SafeString:
    """A bar for each day, stacked by what the responses were, and the downloads as a line.

    Nothing if there were no requests.
    """
    return _chart(days, label=f"Requests on each of the last {len(days)} days (UTC)")


def _chart(days: Sequence[Day], *, label: str, small: bool = False) -> SafeString:
    bars = [
        Bar(
            str(day.date),
            {"ok": day.ok, "errors": day.errors, "limited": day.limited},
            line={} if small else {"downloads": day.downloads},
        )
        for day in days
    ]
    used = any(bar.total for bar in bars)
    return bar_chart(bars, label=label, small=small) if used else SafeString("")
