"""docs/operations.md: its commands and numbers are the code's. `make drill` runs the commands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.drill.__main__ import guide
from tests.support.server import ROOT

REFERENCE = (ROOT / "docs" / "reference.md").read_text()
BLOCKS = [block for _, block in guide()]
COMMANDS = sorted(
    set(re.findall(r"deploy/manage (.*?)(?: \||$)", "".join(BLOCKS).replace("\\\n", ""), re.M))
)
SCRIPTS = [
    file
    for file in (ROOT / "deploy").iterdir()
    if file.is_file() and file.read_bytes().startswith(b"#!/bin/sh")
]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_guide_s_commands_are_valid_and_their_files_exist(block: str) -> None:
    assert subprocess.run(["bash", "-n"], input=block, text=True).returncode == 0
    named = re.findall(r"\b(?:deploy|documents)/[\w./-]+", block)
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_guide_s_management_commands_have_these_options(command: str) -> None:
    name, *words = shlex.split(command)
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    parser.parse_args(words)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_are_valid_and_executable(script: Path) -> None:
    assert subprocess.run(["sh", "-n", script]).returncode == 0
    assert os.access(script, os.X_OK)


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
