"""Reading settings from environment variables, each with its help text.

An invalid value stops the program with the variable's name and the accepted values. The system
checks (`config.checks`) report a missing variable, so that importing the settings never needs a
database, object storage or a secret.
"""

import os
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo, timeout_from_conninfo
from redis import ConnectionPool, RedisError

# What programs that read a URL agree on: nothing of the user and the password can be taken for the
# end of either, and no other @ follows.
_URL = re.compile(r"[^:]+://((?:[^@/?#\[\]\s%]|%[0-9A-Fa-f]{2})*@)?(?:[^@#\s%]|%[0-9A-Fa-f]{2})*")
_HOST = r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])"  # as in a Host header; IPv6 in brackets


class Variable(NamedTuple):
    """An environment variable that this module has read.

    Attributes:
        default: its default as text; None if the service needs the variable (`missing`).
        help: what to set it to, for the table of variables and error messages.
    """

    name: str
    default: str | None
    help: str


# All that were read, in that order, each as it was read first: by the settings.
VARIABLES: dict[str, Variable] = {}


def _read(name: str, default: str | None, help: str) -> str:
    VARIABLES.setdefault(name, Variable(name, default, help))
    value = os.environ.get(name, "").strip()
    one_line = not any(unicodedata.category(each) in ("Cc", "Cs") for each in value)
    _require(one_line, name, "be one line of UTF-8")
    return value


def text(name: str, default: str | None = "", *, help: str) -> str:
    return _read(name, default, help) or default or ""


def _require(valid: bool, name: str, must: str) -> None:
    """Raises ImproperlyConfigured. It does not quote the value, which may contain a password."""
    if not valid:
        raise ImproperlyConfigured(f"{name} must {must}.")


def integer(name: str, default: int, *, help: str) -> int:
    value = text(name, str(default), help=help)
    _require(value.isascii() and value.isdigit(), name, "be a whole number")
    return int(value)


def choice(name: str, *allowed: str, help: str) -> str:
    """The variable, one of `allowed`; the first of them if it is unset."""
    value = text(name, allowed[0], help=help).lower()
    _require(value in allowed, name, f"be one of {', '.join(allowed)}")
    return value


def boolean(name: str, *, default: bool, help: str) -> bool:
    values = ("yes", "no") if default else ("no", "yes")
    return choice(name, *values, help=help) == "yes"


def url(
    name: str,
    schemes: tuple[str, ...],
    *,
    default: str | None = None,
    options: bool = False,
    help: str,
) -> str:
    """The variable as a URL with one of these schemes; "not-set" if it is required and not set."""
    unset = f"{schemes[0]}://not-set" if default is None else default
    value = _read(name, default, help) or unset
    if value == default:
        return value
    begins = ", ".join(f"{scheme}://" for scheme in schemes)
    _require(value.partition("://")[0] in schemes, name, f"begin with one of {begins}")
    encoded = "be a URL with each of @ / ? # [ ] % and space in a user or password as %40 %2F %3F "
    _require(_URL.fullmatch(value) is not None, name, f"{encoded}%23 %5B %5D %25 %20")
    _require(options or "?" not in value, name, "have no ?")
    try:
        _ = urlsplit(value).port
    except ValueError:
        one = "have one HOST, or HOST:PORT with a number as the port"
        _require(False, name, f"{one}: set it to {help}")
    return value


def http_url(name: str, *, default: str | None = None, path: bool = False, help: str) -> str:
    value = url(name, ("https", "http"), default=default, help=help).rstrip("/")
    parts = urlsplit(value)
    valid = re.fullmatch(rf"{_HOST}(:[0-9]+)?", parts.netloc) and (path or not parts.path)
    _require(bool(valid) or value == default, name, "be https://HOST, the host in ASCII (xn--…)")
    return value


def database_url(name: str, *, default: str | None = None, help: str) -> str:
    value = url(name, ("postgresql", "postgres"), default=default, options=True, help=help)
    if value:
        try:
            options = make_conninfo(**dj_database_url.parse(value).get("OPTIONS", {}))
            timeout_from_conninfo(conninfo_to_dict(options))
        except ProgrammingError as exc:
            _require(False, name, f"have options that libpq knows: {str(exc).strip()}")
    return value


def redis_url(name: str, *, help: str) -> str:
    value = url(name, ("redis", "rediss", "unix", "memory"), options=True, help=help)
    scheme, path = urlsplit(value).scheme, urlsplit(value).path
    is_number = scheme == "unix" or re.fullmatch("/?[0-9]*", path) is not None
    _require(is_number, name, "end with the number of the database, such as /0")
    if scheme != "memory":
        try:
            ConnectionPool.from_url(value).make_connection()  # it does not connect
        except (TypeError, ValueError, RedisError):
            _require(False, name, "have options that redis-py knows")
    return value


def hosts(name: str, default: str, *, help: str) -> list[str]:
    found = words(name, default, help=help)
    valid = all(re.fullmatch(rf"\*|{_HOST}", each) for each in found)
    _require(valid, name, "be host names without ports, with commas, in ASCII (xn--…)")
    return found


def words(name: str, default: str = "", *, help: str) -> list[str]:
    return [word.strip() for word in text(name, default, help=help).split(",") if word.strip()]


def missing() -> list[Variable]:
    unset = (each for each in VARIABLES.values() if each.default is None)
    return [each for each in unset if not os.environ.get(each.name, "").strip()]


def data_dir() -> Path:
    """The folder for all data of a laptop: DATA_DIR, or var/ in the project."""
    return Path(os.environ.get("DATA_DIR") or Path(__file__).parent.parent / "var").absolute()


def file() -> Path:
    """Where `make run` writes the variables of its services while it runs."""
    return data_dir() / "env"


def read_file() -> None:
    """Sets the variables in `file`, unless the environment has any of the service's own."""
    if not os.environ.get("SECRET_KEY") and file().exists():
        for line in file().read_text().removesuffix("\n").split("\n"):  # only at these
            name, _, value = line.partition("=")
            os.environ.setdefault(name, value)
