"""The variables: each has a text, and every list of them is the settings' own."""

import os
import re
import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import call_command

from config import env
from tests.support.server import ROOT

REFERENCE = ROOT / "docs" / "reference.md"
EXAMPLE = ROOT / "deploy" / "env.example"


def test_list_variables_prints_a_table_with_a_row_for_each() -> None:
    out = StringIO()
    call_command("list_variables", stdout=out)
    rows = out.getvalue().splitlines()[2:]
    assert [row.split("`")[1] for row in rows[:2]] == ["SECRET_KEY", "DATABASE_URL"]
    assert sorted(row.split("`")[1] for row in rows) == sorted(env.VARIABLES)
    assert all(len(row.split(" | ")) == 3 for row in rows)
    assert "| `HTTPS_ONLY` | `yes` | " in out.getvalue()
    assert "| `CSRF_TRUSTED_ORIGINS` | none | " in out.getvalue()


def test_reference_has_that_table() -> None:
    _, table, _ = re.split(r"<!-- /?list_variables -->\n", REFERENCE.read_text())
    assert table == env.table(), "python manage.py list_variables prints the current one"


def test_variable_that_is_read_again_keeps_its_row() -> None:
    table = env.table()
    assert env.text("LOG_LEVEL", "another", help="")
    assert env.table() == table


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HTTPS_ONLY": "yes", "ALLOWED_HOSTS": ".example.com,x.example"}, "https://example.com"),
        ({"HTTPS_ONLY": "yes", "BASE_URL": "https://a.example:8443/"}, "https://a.example:8443"),
        ({"HTTPS_ONLY": "no"}, ""),
    ],
)
def test_variable_of_the_links_is_the_first_allowed_host_by_default(
    variables: dict[str, str], expected: str
) -> None:
    program = [sys.executable, "-c", "from config import settings; print(settings.BASE_URL)"]
    environment = {**os.environ, **variables}
    done = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout == f"{expected}\n", done.stderr


LINKS = "BASE_URL must be https://HOST, without a path."
CONTACT = "SECURITY_CONTACT must be mailto:ADDRESS or https://…."


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("BASE_URL", "api.example.com", LINKS),
        ("BASE_URL", "https://", LINKS),
        ("BASE_URL", "https://x/y", LINKS),
        ("BASE_URL", "ftp://x", LINKS),
        ("BASE_URL", "https://ü", LINKS),
        ("SECURITY_CONTACT", "security@acme.example", CONTACT),
        ("SECURITY_CONTACT", "mailto:a@b\nContact: x", CONTACT),
        ("SECURITY_CONTACT", "http://a", CONTACT),
    ],
)
def test_variable_that_is_not_valid_stops_the_program(name: str, value: str, expected: str) -> None:
    program = [sys.executable, "-c", "from config import settings"]
    environment = {**os.environ, name: value}
    done = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert f"ImproperlyConfigured: {expected}" in done.stderr


def test_env_example_has_every_variable_and_no_other() -> None:
    """Required ones are set; each other one is a comment with its default."""
    lines = re.findall(r"^(#?)([A-Z][A-Z0-9_]*)=(.*)$", EXAMPLE.read_text(), re.MULTILINE)
    assert sorted(name for _, name, _ in lines) == sorted(env.VARIABLES)
    for comment, name, value in lines:
        variable = env.VARIABLES[name]
        if comment:
            assert value == variable.default, name
        else:
            assert value, name
