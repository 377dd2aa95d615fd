"""Reading settings from environment variables, each with its help text.

An invalid value stops the program with the variable's name and the accepted values. The system
checks (`config.checks`) report a missing variable, so that importing the settings never needs a
database, object storage or a secret.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


@dataclass(frozen=True)
class Variable:
    """An environment variable that this module has read.

    Attributes:
        default: its default as text; None if the service needs the variable.
        help: what to set it to, for the table of variables and error messages.
    """

    name: str
    default: str | None
    help: str


# All that were read, in that order, each as it was read first: by the settings.
VARIABLES: dict[str, Variable] = {}


def _read(name: str, default: str | None, help: str) -> str:
    VARIABLES.setdefault(name, Variable(name, default, help))
    return os.environ.get(name, "").strip()


def required(name: str, *, help: str) -> str:
    """The value of a variable that the service needs; empty if it is not set (`missing`)."""
    return _read(name, None, help)


def text(name: str, default: str = "", *, help: str) -> str:
    """The variable's value without surrounding whitespace; `default` if unset or empty."""
    return _read(name, default, help) or default


def _require(valid: bool, name: str, must: str) -> None:
    """Raises ImproperlyConfigured. It does not quote the value, which may contain a password."""
    if not valid:
        raise ImproperlyConfigured(f"{name} must {must}.")


def integer(name: str, default: int, *, help: str) -> int:
    """The variable as a whole number."""
    value = text(name, str(default), help=help)
    _require(value.isascii() and value.isdigit(), name, "be a whole number")
    return int(value)


def choice(name: str, *allowed: str, help: str) -> str:
    """The variable, one of `allowed`; the first of them if it is unset."""
    value = text(name, allowed[0], help=help).lower()
    _require(value in allowed, name, f"be one of {', '.join(allowed)}")
    return value


def boolean(name: str, *, default: bool, help: str) -> bool:
    """The variable, "yes" or "no", as a boolean."""
    values = ("yes", "no") if default else ("no", "yes")
    return choice(name, *values, help=help) == "yes"


def url(name: str, schemes: tuple[str, ...], *, default: str | None = None, help: str) -> str:
    """The variable as a URL with one of these schemes; "not-set" if it is required and not set."""
    unset = f"{schemes[0]}://not-set" if default is None else default
    value = _read(name, default, help) or unset
    begins = ", ".join(f"{scheme}://" for scheme in schemes)
    valid = value.partition("://")[0] in schemes or value == default
    _require(valid, name, f"begin with one of {begins}")
    return value


def words(name: str, default: str = "", *, help: str) -> list[str]:
    """The variable as a list, split at commas; empty items are dropped."""
    return [word.strip() for word in text(name, default, help=help).split(",") if word.strip()]


def missing() -> list[Variable]:
    """The required variables that are not set."""
    unset = (each for each in VARIABLES.values() if each.default is None)
    return [each for each in unset if not os.environ.get(each.name, "").strip()]


def data_dir() -> Path:
    """The folder for all data of a laptop: DATA_DIR, or var/ in the project."""
    return Path(os.environ.get("DATA_DIR") or Path(__file__).parent.parent / "var").absolute()


def file() -> Path:
    """Where `make run` writes the variables of what it runs, meanwhile."""
    return data_dir() / "env"


def read_file() -> None:
    """Sets the variables in `file`, unless the environment has any of the service's own."""
    if not os.environ.get("SECRET_KEY") and file().exists():
        for line in file().read_text().splitlines():
            name, _, value = line.partition("=")
            os.environ.setdefault(name, value)
