import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from config.management.progress import InterruptibleCommand
from documents.importing.importer import Importer
from documents.storage import StorageError
from workspaces.models import Workspace


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage", OSError: "A file"}
    unfinished = "what was imported before this stays, and the file can be imported again"
    help = "Imports documents with their PDFs (`documents.importing` describes the file)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace_id", type=UUID, help="as create_workspace printed it")
        parser.add_argument("file", type=Path, help="JSON Lines, with the PDFs beside it")
        parser.add_argument("--strict", action="store_true", help="import all lines, or none")

    def handle(self, *, workspace_id: UUID, file: Path, strict: bool, **options: Any) -> None:
        workspace = Workspace.objects.filter(pk=workspace_id).first()
        if workspace is None:
            raise CommandError("There is no workspace with that id.")
        importer = Importer(workspace, file.parent, self.report)
        with file.open("rb") as content:
            importer.run(content, strict=strict)
        self.stdout.write(json.dumps(importer.counts))
        if refused := importer.counts["refused"]:
            raise CommandError(f"Refused lines: {refused:,}. The others were imported.")
