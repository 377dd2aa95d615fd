"""System checks of webhooks and of the feed of events."""

from django.core.checks import Error, Info, Tags

from config.checks import DATABASE, QUICK, Found, finds
from events.webhooks import monitoring


@finds("webhooks.001", Tags.database, QUICK, hint=DATABASE)
def webhooks() -> Found:
    """Whether a process delivers, and the feed shows what happens."""
    status = monitoring.read_status()
    processes, endpoints = status["webhooks_processes"], status["webhooks_endpoints"]
    late, held = status["webhooks_overdue_seconds"], status["events_held_seconds"]
    hint = "Look at: systemctl status 'documents-api-*'"
    text = f"Processes that deliver: {processes:.0f}. Webhooks: {endpoints:.0f}."
    yield Error if endpoints and not processes else Info, text, hint
    text = f"The oldest delivery has been due for {late:,.0f} s."
    yield Error if late > monitoring.LATE_SECONDS else Info, text, hint
    text = f"The feed does not show events of the last {held:,.0f} s: a transaction goes on."
    if held > monitoring.HELD_SECONDS:
        yield Error, text, "config.004 names the session."
