"""The webhooks' facts for operators (`config.system`)."""

from config.system import Fact
from events.webhooks import state


def read_webhooks() -> list[Fact]:
    """Whether deliveries go on, and the feed shows what happens."""
    found = state.read()
    absent = found.processes == 0 and found.endpoints > 0
    return [
        Fact(
            "Processes that deliver",
            f"{found.processes:,}" if found.processes else "none: see manage.py deliver_webhooks",
            "bad" if absent else "ok" if found.processes else "",
        ),
        Fact("Deliveries that wait", f"{found.pending:,}"),
        Fact(
            "The oldest one that should have been attempted",
            f"{found.overdue_seconds:,.0f} s" if found.overdue_seconds else "none",
            "bad" if found.late else "ok",
        ),
        Fact("Endpoints that the service has switched off", f"{found.switched_off:,}"),
        Fact(
            "The oldest event that the feed does not show yet",
            f"{found.held_seconds:,.0f} s: a transaction has run for longer"
            if found.held_seconds
            else "none",
            "bad" if found.held else "ok",
        ),
    ]
