"""docs/evidence.md: its commands check a real evidence file."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command, get_commands, load_command_class

from audit.models import Checkpoint
from tests.support import factories
from tests.support.examples import path_of
from tests.support.factories import Tenant
from tests.support.seals import KEY, seal
from tests.support.server import ROOT

PAGE = (ROOT / "docs" / "evidence.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.S)


@pytest.fixture
def folder(transactional_db: None, acme: Tenant, tmp_path: Path, settings: Any) -> Path:
    """What somebody has who follows the page."""
    settings.AUDIT_PUBLIC_KEYS = [str(KEY.public)]
    document = factories.document(acme.workspace, "COMPLETED")
    response = acme.get(f"/documents/{document.id}/download")
    (tmp_path / "signed.pdf").write_bytes(response.body)
    seal()
    call_command("export_evidence", str(document.id), output=tmp_path / "evidence.json")
    (tmp_path / "witness.txt").write_text(Checkpoint.objects.get().note)
    (tmp_path / "verify_evidence.py").symlink_to(path_of("verify_evidence"))
    return tmp_path


def test_evidence_page_s_commands_check_a_real_file(folder: Path) -> None:
    script = "".join(BLOCKS)
    assert script.startswith("pip install cryptography\n")  # is installed, with this Python
    done = subprocess.run(
        ["sh", "-euc", script.partition("\n")[2]],
        cwd=folder,
        env={"KEY": str(KEY.public), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("VALID. ")
    assert "- signed.pdf is unchanged: it is a file of the document, of type signed." in done.stdout
    assert done.stdout.endswith("\n1\nSignature Verified Successfully\n")


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`manage.py ([^`]+)`", PAGE))))
def test_evidence_page_s_management_commands_have_these_options(command: str) -> None:
    name, *words = command.split()
    load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(
        words
    )
