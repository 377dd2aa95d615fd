import shutil
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from audit.scope import Scope
from audit.sealing.tree import TreeDamaged
from config.management.progress import InterruptibleCommand
from documents.evidence import EvidenceRefused, export
from documents.evidence.facts import Trail
from workspaces.models import Workspace


class Command(InterruptibleCommand):
    help = (
        "Writes a document's evidence file: its entries in the audit log, with proofs that anybody "
        "can check offline (docs/evidence.md). The export itself is recorded."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("document_id", help="also of a document that was deleted")
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="instead of standard output"
        )

    def handle(self, *, document_id: str, output: Path | None, **options: Any) -> None:
        try:
            trail = Trail(UUID(document_id), Scope(Workspace.objects.none(), everything=True))
        except ValueError as exc:
            raise CommandError("DOCUMENT_ID must be a UUID.") from exc
        try:
            if not trail.exists():
                raise CommandError("There is no such document, and no entry about one.")
            # Whole before any of it is written, so that nobody takes a part for a file.
            with TemporaryFile("w+", encoding="utf-8") as made:
                made.writelines(export(trail))
                made.seek(0)
                if output is None:
                    self.stdout.writelines(made)
                    return
                with output.open("w", encoding="utf-8") as file:
                    shutil.copyfileobj(made, file)
        except (EvidenceRefused, TreeDamaged) as exc:
            raise CommandError(str(exc)) from exc
        except OSError as exc:
            raise CommandError(f"The file cannot be written: {exc.strerror}.") from exc
