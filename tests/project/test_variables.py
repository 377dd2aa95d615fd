"""The variables: each has a text, and every list of them is the settings' own."""

import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.exceptions import ImproperlyConfigured
from redis import ConnectionPool

from config import env
from tests.support.server import ROOT

REFERENCE = ROOT / "docs" / "reference.md"
EXAMPLE = ROOT / "deploy" / "env.example"


def table() -> str:
    """All variables as a Markdown table; those that the service needs come first."""
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for each in sorted(env.VARIABLES.values(), key=lambda variable: variable.default is not None):
        default = f"`{each.default}`" if each.default else "none"
        default = "required" if each.default is None else default
        rows.append(f"| `{each.name}` | {default} | {each.help} |")
    return "\n".join(rows) + "\n"


def test_reference_has_a_table_of_all_variables() -> None:
    _, written, _ = re.split(r"<!-- /?variables -->\n", REFERENCE.read_text())
    assert written == table(), f"the current one:\n{table()}"


@pytest.fixture
def settings_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """The settings, read anew with some variables."""

    def read(**variables: str) -> dict[str, Any]:
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            return runpy.run_path(str(ROOT / "config" / "settings.py"))

    return read


def test_variable_of_the_links_is_the_first_allowed_host_by_default(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    for variables, expected in (
        ({"HTTPS_ONLY": "yes", "ALLOWED_HOSTS": ".example.com,x.example"}, "https://example.com"),
        ({"HTTPS_ONLY": "yes", "BASE_URL": "https://a.example:8443/"}, "https://a.example:8443"),
        ({"HTTPS_ONLY": "no"}, ""),
    ):
        assert settings_with(**variables)["BASE_URL"] == expected


def test_variable_of_tracebacks_has_no_effect_over_https(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    for https_only, debug in (("yes", False), ("no", True)):
        assert settings_with(HTTPS_ONLY=https_only, DEBUG="yes")["DEBUG"] == debug


def test_variable_of_the_mail_server(settings_with: Callable[..., dict[str, Any]]) -> None:
    names = ("EMAIL_HOST", "EMAIL_PORT", "EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD", "EMAIL_USE_TLS")
    for url, expected in (
        ("", ("", 25, "", "", False)),
        ("smtp://mail.example", ("mail.example", 25, "", "", False)),
        ("smtp+tls://u:p%40ss@mail.example", ("mail.example", 587, "u", "p@ss", True)),
        ("smtps://u:p@mail.example:4650", ("mail.example", 4650, "u", "p", False)),
    ):
        found = settings_with(EMAIL_URL=url)
        assert tuple(found[name] for name in names) == expected


ENCODED = (
    "be a URL with each of @ / ? # [ ] % and space in a user or password as "
    "%40 %2F %3F %23 %5B %5D %25 %20"
)
PORT = "have one HOST, or HOST:PORT with a number as the port: set it to "
MAIL = env.VARIABLES["EMAIL_URL"].help
SEVERAL = (
    "postgresql://USER:PASSWORD@HOST:PORT/NAME; several hosts: @/NAME?host=A,B&port=1,2; "
    "a socket: @%2FFOLDER/NAME"
)
LIBPQ = "have options that libpq knows: "
# Variable → what it must be, and values with which the program stops.
NOT_VALID = [
    ("BASE_URL", "begin with one of https://, http://", ["api.example.com", "ftp://x"]),
    (
        "BASE_URL",
        "be https://HOST, the host in ASCII (xn--…)",
        ["https://a.example/app", "https://bücher.example", "https://u:p@a.example", "https://"],
    ),
    ("HTTPS_ONLY", "be one of yes, no", ["1", "'yes'"]),
    ("TRUSTED_PROXIES", "be a whole number", ["-1", "1 000", "３"]),
    ("SECRET_KEY", "be one line of UTF-8", ["a\nb", "a\udcffb"]),
    (
        "ALLOWED_HOSTS",
        "be host names without ports, with commas, in ASCII (xn--…)",
        ["a.example:443", "https://a.example", "bücher.example", "a.example b.example"],
    ),
    (
        "EMAIL_URL",
        "begin with one of smtp://, smtp+tls://, smtps://, mailbox://",
        ["mail.example", "http://x", "smtp:x"],
    ),
    ("EMAIL_URL", "have no ?", ["smtp://mail.example/?tls=yes"]),
    ("EMAIL_URL", PORT + MAIL, ["smtp://mail.example:x"]),
    ("DATABASE_URL", "begin with one of postgresql://, postgres://", ["mysql://x/y", "host=x"]),
    (
        "DATABASE_URL",
        ENCODED,
        [f"postgresql://u:{each}@h/d" for each in ("@", "/", "?", "#", "[", "%", " ")],
    ),
    (
        "DATABASE_URL",
        PORT + SEVERAL,
        ["postgresql://u:p@h:x/d", "postgresql://u:p@h1:1,h2:2/d", "postgresql://u:p@h1:1,h2/d"],
    ),
    (
        "DATABASE_URL",
        f'{LIBPQ}invalid connection option "pgbouncer"',
        ["postgres://h/d?pgbouncer=1"],
    ),
    (
        "DATABASE_SEALER_URL",
        f"{LIBPQ}bad value for connect_timeout: 'x'",
        ["postgres://h/d?connect_timeout=x"],
    ),
    ("S3_ENDPOINT_URL", "be https://HOST, the host in ASCII (xn--…)", ["http://a_b:9000"]),
    (
        "REDIS_URL",
        "begin with one of redis://, rediss://, unix://, memory://",
        ["redis+sentinel://h:26379/mymaster/0"],
    ),
    ("REDIS_URL", PORT + env.VARIABLES["REDIS_URL"].help, ["redis://h:x/0"]),
    (
        "REDIS_URL",
        "end with the number of the database, such as /0",
        ["redis://h/a", "redis://h/1/2"],
    ),
    ("REDIS_URL", "have options that redis-py knows", ["redis://h/0?foo=1", "redis://h?db=x"]),
]


@pytest.mark.parametrize(("name", "must", "values"), NOT_VALID)
def test_variable_that_is_not_valid_stops_the_program(
    settings_with: Callable[..., dict[str, Any]], name: str, must: str, values: list[str]
) -> None:
    for value in values:
        with pytest.raises(ImproperlyConfigured) as refused:
            settings_with(**{name: value})
        assert str(refused.value) == f"{name} must {must}.", value


ODD = "p@:/?#[]%40+ \"'$`\\&=ü\u202fпароль😀"


def test_variable_with_an_encoded_password_has_that_password(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    password = quote(ODD, safe="")
    found = settings_with(
        DATABASE_URL=f"postgresql://u%40x:{password}@%2Frun%2Fpostgresql/d%20b?connect_timeout=20",
        REDIS_URL=f"rediss://u%40x:{password}@[::1]:6380/3",
        EMAIL_URL=f"smtps://u%40x:{password}@mail.example",
        S3_ENDPOINT_URL="https://x.example:9000/storage/v1/s3/",
        S3_SECRET_ACCESS_KEY=f" {ODD}\r\n",
        ALLOWED_HOSTS=" A.example , .b.example,[2001:DB8::1] ,",
        HTTPS_ONLY="No",
        TRUSTED_PROXIES=" 1 ",
    )
    database = found["DATABASES"]["default"]
    names = ("USER", "PASSWORD", "HOST", "NAME")
    assert [database[name] for name in names] == ["u@x", ODD, "/run/postgresql", "d b"]
    assert (database["OPTIONS"]["connect_timeout"], database["OPTIONS"]["keepalives_idle"]) == (
        20,
        30,
    )
    redis = ConnectionPool.from_url(found["REDIS_URL"]).connection_kwargs
    fields = ("username", "password", "host", "port", "db")
    assert [redis[name] for name in fields] == ["u@x", ODD, "::1", 6380, 3]
    assert (found["EMAIL_HOST_USER"], found["EMAIL_HOST_PASSWORD"]) == ("u@x", ODD)
    storage = found["STORAGES"]["default"]["OPTIONS"]
    assert storage["endpoint_url"] == "https://x.example:9000/storage/v1/s3"
    assert storage["secret_key"] == ODD
    assert found["ALLOWED_HOSTS"] == ["A.example", ".b.example", "[2001:DB8::1]"]
    assert (found["HTTPS_ONLY"], found["TRUSTED_PROXIES"]) == (False, 1)


def test_variables_of_make_run_are_those_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"DATA_DIR": str(tmp_path / "a b"), "SECRET_KEY": "a=b\u2028 # $x"}
    monkeypatch.setenv("DATA_DIR", variables["DATA_DIR"])
    monkeypatch.delenv("SECRET_KEY")
    env.file().parent.mkdir()
    env.file().write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
    env.read_file()
    assert {name: os.environ[name] for name in variables} == variables


def test_env_example_has_all_required_variables_and_none_that_does_not_exist() -> None:
    """Each other one is set, or a comment with its default."""
    lines = re.findall(r"^(#?)([A-Z][A-Z0-9_]*)=(.*)$", EXAMPLE.read_text(), re.MULTILINE)
    names = {name for _, name, _ in lines}
    assert names <= set(env.VARIABLES)
    assert {each.name for each in env.VARIABLES.values() if each.default is None} <= names
    for comment, name, value in lines:
        if not comment:
            assert value, name
        elif name != "AUDIT_WITNESS_BUCKET":
            assert value == env.VARIABLES[name].default, name
