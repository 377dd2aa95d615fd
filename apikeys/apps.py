"""The app's name on the admin's pages, its health check, and what a suspension stops."""

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from workspaces.models import Workspace


class ApiKeysConfig(AppConfig):
    name = "apikeys"
    verbose_name = "Developer settings"

    def ready(self) -> None:
        from config.runtime import health  # noqa: PLC0415 - needs the settings
        from workspaces import effects  # noqa: PLC0415 - needs the models

        health.register("counter", check_counter, required=False)
        effects.register("active key", count_active_keys)


def check_counter() -> None:
    """Raises an exception if the rate limit's counter is out of reach or refuses to count.

    Redis responds to a PING when its memory is full, and while it is a replica.
    """
    from apikeys.throttling import KeyThrottle  # noqa: PLC0415 - loaded with the views

    KeyThrottle.counter.increment("requests:readiness")


def count_active_keys(workspace: "Workspace") -> int:
    from apikeys.models import ApiKey  # noqa: PLC0415 - loaded after this module

    return ApiKey.objects.active().filter(workspace=workspace).count()
