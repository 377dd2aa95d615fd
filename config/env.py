"""Reading settings from environment variables.

An invalid value stops the program with the variable's name and the accepted values. The system
checks (`config.checks`) report a missing variable, so that importing the settings never needs a
database, object storage or a secret.
"""

import os

from django.core.exceptions import ImproperlyConfigured

TRUE = ("1", "true", "yes", "on")
FALSE = ("0", "false", "no", "off")


def text(name: str, default: str = "") -> str:
    """The variable's value without surrounding whitespace; `default` if unset or empty."""
    return os.environ.get(name, "").strip() or default


def integer(name: str, default: int, *, minimum: int = 0) -> int:
    """The variable as a whole number of at least `minimum`.

    Raises:
        ImproperlyConfigured: it is set to anything else.
    """
    value = text(name)
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and int(value) >= minimum):
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {minimum}.")
    return int(value)


def boolean(name: str, *, default: bool) -> bool:
    """The variable as a boolean.

    Raises:
        ImproperlyConfigured: it is set to anything else.
    """
    value = text(name).lower()
    if not value:
        return default
    if value not in TRUE + FALSE:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(TRUE + FALSE)}.")
    return value in TRUE


def url(name: str, default: str, *schemes: str) -> str:
    """The variable as a URL with one of these schemes.

    Raises:
        ImproperlyConfigured: it has another one. The message does not quote the value, which may
            contain a password.
    """
    value = text(name, default)
    if value.partition("://")[0] not in schemes:
        begins = ", ".join(f"{scheme}://" for scheme in schemes)
        raise ImproperlyConfigured(f"{name} must begin with one of {begins}.")
    return value


def words(name: str, default: str = "") -> list[str]:
    """The variable as a list, split at commas; empty items are dropped."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]
