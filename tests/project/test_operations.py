"""The guide's commands and numbers are the code's. Drills (tests/drill) run the commands."""

import os
import re
import shlex
import subprocess

import pytest
from django.core.management import get_commands, load_command_class

from bench.servers import THREADS
from tests.drill.__main__ import guide
from tests.support.factories import uid
from tests.support.server import ROOT

PAGES = [ROOT / "docs" / f"{name}.md" for name in ("operations", "incidents")]
BLOCKS = [block for page in PAGES for _, block in guide(page)]
COMMANDS = {
    *re.findall(r"deploy/manage (.*?)(?: \||$)", "".join(BLOCKS).replace("\\\n", ""), re.M),
    *re.findall(r"`manage.py ([^`]+)`", (ROOT / "docs/evidence.md").read_text()),
}
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
        name, *words = shlex.split(command.replace("$workspace", str(uid(1))))
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args(words)


def test_guide_counts_the_connections_and_instances_that_there_are() -> None:
    connections = THREADS + 3
    unit = (ROOT / "deploy/systemd/documents-api-pages.service").read_text()
    [threads] = re.findall(r"--blocking-threads (\d+)", unit)
    pages = int(threads) + 4
    rest = pages + 6  # the worker, the sealer and commands
    instances = (100 - 3 - rest) // connections  # PostgreSQL keeps three for superusers
    sizing = (ROOT / "docs/reference.md").read_text()
    scaling = (ROOT / "docs/scaling.md").read_text()
    assert f"**Threads**: {THREADS} in an instance" in sizing
    assert f"{connections} an instance, {pages} for pages" in sizing
    assert f"(an instance has up to {connections} connections)" in scaling
    assert instances == 4
    assert "| a fifth instance" in scaling


def test_scripts_are_valid_and_executable() -> None:
    for script in SCRIPTS:
        shell = script.read_text().splitlines()[0].removeprefix("#!")
        assert subprocess.run([shell, "-n", script]).returncode == 0, script
        assert os.access(script, os.X_OK), script


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Whose e-mail address"),
        (["a@example.com", "--certificate", "x"], "the files of the certificate and of its key"),
        (["a@example.com"], "Which certificate?"),
        (["a@example.com", "--self-signed"], "Unpack the release into /opt"),
    ],
)
def test_installer_says_what_it_lacks(words: list[str], sentence: str) -> None:
    command = [str(ROOT / "deploy" / "install"), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert sentence in done.stderr
