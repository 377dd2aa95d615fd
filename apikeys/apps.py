"""The app's name on the admin's pages, and its health check."""

from django.apps import AppConfig
from django.conf import settings

from config import cache


class ApiKeysConfig(AppConfig):
    name = "apikeys"
    verbose_name = "Developer settings"

    def ready(self) -> None:
        from config.runtime import health  # noqa: PLC0415 - needs the settings

        health.register("counter", check_counter, required=False)


def check_counter() -> None:
    """Raises an exception if the rate limit's counter is out of reach or refuses to count.

    Redis responds to a PING when its memory is full, and while it is a replica.
    """
    if not settings.COUNT_IN_PROCESS:
        cache.send(cache.connect(), "INCR", "readiness")
