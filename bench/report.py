"""The results in words and tables."""

from statistics import median

from bench.comparison import Results


def spread(values: list[float], digits: int) -> str:
    """The median, and from where to where the rounds went."""
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return f"{median(values):,.{digits}f} ({low} to {high})"


def table(results: Results) -> list[str]:
    """What each endpoint costs with each variant, in Markdown."""
    lines = [
        "| endpoint | variant | requests/s | server, ms | database, ms | Redis, ms |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (endpoint, variant), rounds in results.items():
        cells = [
            spread([m.rate for m in rounds], 0),
            spread([m.server_ms for m in rounds], 2),
            spread([m.database_ms for m in rounds], 2),
            spread([1000 * m.redis / m.requests for m in rounds], 2),
        ]
        lines.append(f"| {endpoint} | {variant} | {' | '.join(cells)} |")
    return lines
