"""Loads the demo the way documents come from outside: a file beside PDFs, imported."""

import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from django.contrib.auth.models import User

from config.management.progress import Say
from documents.api.parameters import FILE_TYPES
from documents.demo.author import Made
from documents.demo.cast import PEOPLE, TENANTS, create_people
from documents.demo.certificate import write_certificate
from documents.demo.original import write_original
from documents.demo.paper import Paper
from documents.demo.signed import write_signed
from documents.demo.story import make_up
from documents.importing import import_file
from workspaces.models import Workspace

FILE = "documents.jsonl"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def wanted() -> bool:
    """Whether there is nothing but a demo whose loading broke off, if that."""
    others = Workspace.objects.exclude(pk__in=[tenant.id for tenant in TENANTS])
    finished = User.objects.filter(username__in=[person.login for person in PEOPLE])
    return not others.exists() and not finished.exists()


def load(say: Say = _say, now: datetime | None = None) -> None:
    """Makes the demo's workspaces with their documents, and last its people, without passwords.

    What an earlier call left undone is done: everything has the same ids each time.

    Args:
        say: called with a line on how far it is, about once a second.
        now: the moment that the demo ends at; the same one gives the same demo.

    Raises:
        What `import_file` raises.
    """
    say("Making the demo …")
    now = now or datetime.now(UTC)
    with tempfile.TemporaryDirectory() as name:
        folders = {tenant: Path(name) / tenant.domain for tenant in TENANTS}
        for tenant, folder in folders.items():
            folder.mkdir()
            _write(list(make_up(tenant, now)), folder)
        for tenant, folder in folders.items():
            say(f"Importing the documents of {tenant.name} …")
            import_file(tenant.create(), folder / FILE, say)
    create_people()


def _write(documents: list[Made], folder: Path) -> None:
    """Writes the documents and their PDFs, as the importer takes them."""
    complete = [made for made in documents if made.complete]
    paper = Paper()
    for made in documents:
        write_original(paper, made)
    for made in complete:
        write_signed(paper, made)
    paper.cut(folder)
    # They tell the other files' digests.
    certificates = Paper()
    for made in complete:
        write_certificate(certificates, made, folder)
    certificates.cut(folder)
    with (folder / FILE).open("w", encoding="utf-8") as lines:
        for made in documents:
            types = FILE_TYPES if made.complete else ["original"]
            value = made.value | {"files": {name: made.path(name) for name in types}}
            lines.write(json.dumps(value, ensure_ascii=False) + "\n")
