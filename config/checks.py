"""System checks of the environment."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def required_variables(**kwargs: Any) -> list[CheckMessage]:
    """config.E001: one error for each required variable that is not set."""
    return [
        Error(f"{name} is not set.", hint=f"Set it to {settings.REQUIRED[name]}.", id="config.E001")
        for name in settings.MISSING
    ]
