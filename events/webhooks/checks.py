"""System checks of webhooks."""

from django.core.checks import Error, Info

from config.checks import DATABASE, Found, asks_service
from events.webhooks import monitoring


@asks_service("webhooks.001", hint=DATABASE)
def webhooks() -> Found:
    """Whether a process delivers in time."""
    late, processes, endpoints, _ = monitoring.read_status().values()
    yield (Error if (endpoints and not processes) or late > monitoring.LATE_SECONDS else Info)(
        f"Processes that deliver: {processes:.0f}. Webhooks: {endpoints:.0f}."
        + (f" The oldest delivery has been due for {late:,.0f} s." if late else ""),
        hint="Look at: systemctl status 'documents-api-*'",
    )
