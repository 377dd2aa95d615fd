"""The variables: each has a text, and every list of them is the settings' own."""

import re
import runpy
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

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


# Variable → what it must be, and values with which the program stops.
NOT_VALID = {
    "BASE_URL": ("begin with one of https://, http://", ["api.example.com", "ftp://x"]),
    "LOG_FORMAT": ("be one of text, json", ["xml"]),
    "HTTPS_ONLY": ("be one of yes, no", ["1"]),
    "TRUSTED_PROXIES": ("be a whole number", ["-1", "one"]),
    "EMAIL_URL": (
        "begin with one of smtp://, smtp+tls://, smtps://, mailbox://",
        ["mail.example", "http://x", "smtp:x"],
    ),
}


@pytest.mark.parametrize("name", NOT_VALID)
def test_variable_that_is_not_valid_stops_the_program(
    settings_with: Callable[..., dict[str, Any]], name: str
) -> None:
    must, values = NOT_VALID[name]
    for value in values:
        with pytest.raises(ImproperlyConfigured) as refused:
            settings_with(**{name: value})
        assert str(refused.value) == f"{name} must {must}."


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
