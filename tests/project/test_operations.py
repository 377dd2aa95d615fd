"""The guide's commands and numbers are the code's. Drills (tests/drill) run the commands."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from django.core.management import get_commands, load_command_class

from tests.drill.__main__ import guide
from tests.support.server import ROOT

REFERENCE = (ROOT / "docs" / "reference.md").read_text()
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("operations", "recovery", "incidents")]
BLOCKS = [block for page in PAGES for _, block in guide(page)]
COMMANDS = sorted(
    set(re.findall(r"deploy/manage (.*?)(?: \||$)", "".join(BLOCKS).replace("\\\n", ""), re.M))
)
SCRIPTS = [
    file
    for file in (ROOT / "deploy").iterdir()
    if file.is_file() and file.read_bytes().startswith((b"#!/bin/sh", b"#!/bin/bash"))
]


def test_guide_s_commands_are_valid_and_their_files_exist() -> None:
    for block in BLOCKS:
        assert subprocess.run(["bash", "-n"], input=block, text=True).returncode == 0, block
        named = re.findall(r"\b(?:deploy|documents)/[\w./-]+", block)
        assert [name for name in named if not (ROOT / name).exists()] == []


def test_guide_s_management_commands_have_these_options() -> None:
    for command in COMMANDS:
        name, *words = shlex.split(command)
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args(words)


def test_scripts_are_valid_and_executable() -> None:
    for script in SCRIPTS:
        shell = script.read_text().splitlines()[0].removeprefix("#!")
        assert subprocess.run([shell, "-n", script]).returncode == 0, script
        assert os.access(script, os.X_OK), script


def test_installer_s_dry_run_needs_no_value_and_names_each_step_with_its_commands() -> None:
    words = ["--dry-run", "--storage", "local", "--acme", "--demo"]
    printed = subprocess.run(
        [ROOT / "deploy" / "install", *words], capture_output=True, text=True, check=True
    ).stdout
    assert len(re.findall("^# ", printed, re.M)) == 13
    assert "deploy/manage migrate" in printed
    assert "certbot certonly" in printed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--s3-secret-access-key", "x"], "write --s3-secret-access-key into --options FILE"),
        (["--emial", "a@example.com"], "There is no option EMIAL"),
        (["--s3-bucket", "a b"], "has a character that the files of variables cannot have"),
        (["--options", str(ROOT / "README.md")], "chmod 600"),
    ],
)
def test_installer_refuses_options_that_it_must_not_take(words: list[str], sentence: str) -> None:
    done = subprocess.run(
        [ROOT / "deploy" / "install", "--dry-run", *words], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert sentence in done.stderr


def test_guide_s_number_of_database_connections_is_that_of_the_slots() -> None:
    """In a process of its own, since slots have connections in servers only."""
    count = (
        "import django; django.setup(); from config.runtime import slots; slots.open_connections();"
        "print(sum(len(each._connections) for each in slots.SLOTS.values()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", count],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    readyz = 2  # one for the audit log's state
    assert f"**Database connections**: {int(done.stdout) + readyz} an instance" in REFERENCE
