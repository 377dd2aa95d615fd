"""System checks of the environment.

The server refuses to start if one of `environment_errors` fails. The others run with
`manage.py check --deploy`.
"""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.checks.security.base import (
    SECRET_KEY_INSECURE_PREFIX,
    SECRET_KEY_MIN_LENGTH,
    SECRET_KEY_MIN_UNIQUE_CHARACTERS,
)

from config import env


@register()
def environment_errors(**kwargs: Any) -> list[CheckMessage]:
    """What the service refuses to start with.

    config.E001: a required variable is not set.
    config.E002: a secret key that can be guessed.
    config.E003: any Host header is accepted. Links would lead to whatever host a client names.
    config.E004: pages show tracebacks.
    """
    missing = env.missing()
    errors: list[CheckMessage] = [
        Error(f"{each.name} is not set.", hint=f"Set it to {each.help}.", id="config.E001")
        for each in missing
    ]
    keys = {"SECRET_KEY_FALLBACKS": settings.SECRET_KEY_FALLBACKS}
    if "SECRET_KEY" not in [each.name for each in missing]:
        keys = {"SECRET_KEY": [settings.SECRET_KEY], **keys}
    errors += [
        Error(
            f"{name} can be guessed.",
            hint=f"Set it to at least {SECRET_KEY_MIN_LENGTH} random characters.",
            id="config.E002",
        )
        for name, values in keys.items()
        if any(map(_is_weak, values))
    ]
    if "*" in settings.ALLOWED_HOSTS:
        errors.append(
            Error(
                "ALLOWED_HOSTS accepts every host.",
                hint="Set it to the service's own host names, separated by commas.",
                id="config.E003",
            )
        )
    if settings.DEBUG and settings.HTTPS_ONLY:
        errors.append(
            Error("DEBUG is on: pages show tracebacks.", hint="Unset it.", id="config.E004")
        )
    return errors


def _is_weak(key: str) -> bool:
    return (
        len(key) < SECRET_KEY_MIN_LENGTH
        or len(set(key)) < SECRET_KEY_MIN_UNIQUE_CHARACTERS
        or key.startswith(SECRET_KEY_INSECURE_PREFIX)
    )


@register(deploy=True)
def weaknesses(**kwargs: Any) -> list[CheckMessage]:
    """What the service starts with, although it should not be deployed like that.

    config.E004: the 402 leads to nobody's page. It is an error, since customers read it.
    config.W001: each process counts the rate limit for itself.
    config.W002: keys and passwords may travel unencrypted.
    config.W003: plain HTTP is what nginx seems to send.
    config.W004: a password is enough to sign in as an operator.
    """
    found = (
        (
            settings.COUNT_IN_PROCESS,
            "config.W001",
            "REDIS_URL is memory://: each process allows the whole rate limit.",
            "Set it to redis://HOST:PORT/NUMBER, unless the service is one process.",
        ),
        (
            not settings.HTTPS_ONLY,
            "config.W002",
            "HTTPS_ONLY is off: keys and passwords may be sent unencrypted.",
            "Leave HTTPS_ONLY unset.",
        ),
        (
            settings.HTTPS_ONLY and not settings.TRUSTED_PROXIES,
            "config.W003",
            "TRUSTED_PROXIES is 0: behind nginx every request seems unencrypted, so pages redirect "
            "for ever and the API refuses every request.",
            "Set it to the number of proxies in front, 1 with deploy/nginx.conf.",
        ),
        (
            settings.SECOND_FACTOR == "nobody",
            "config.W004",
            "SECOND_FACTOR is nobody: a password is enough to sign in as an operator.",
            "Leave SECOND_FACTOR unset.",
        ),
    )
    errors = [
        Error(
            "A 402 leads customers to https://example.com/.",
            hint="Set UPGRADE_URL to the page where a workspace admin changes the plan.",
            id="config.E005",
        )
    ]
    return [
        *(errors if settings.UPGRADE_URL.startswith("https://example.com/") else ()),
        *(Warning(text, hint=hint, id=id) for applies, id, text, hint in found if applies),
    ]
