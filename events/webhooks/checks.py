from django.core.checks import Error, Info

from config.checks import DATABASE, Found, asks_service
from events.webhooks import monitoring


@asks_service("webhooks.001", hint=DATABASE)
def webhooks() -> Found:
    """Whether a process delivers in time."""
    status = monitoring.read_status()
    late = status["webhooks_overdue_seconds"]
    processes, endpoints = status["webhooks_processes"], status["webhooks_endpoints"]
    text = f"Processes that deliver: {processes:.0f}. Webhooks: {endpoints:.0f}."
    if late:
        text += f" The oldest delivery has been due for {late:,.0f} s."
    if late > monitoring.LATE_SECONDS or (endpoints and not processes):
        yield Error(text, hint="Look at: systemctl status 'documents-api-*'")
    else:
        yield Info(text)
