"""import_documents WORKSPACE_ID FILE [--strict]"""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from config.management.progress import InterruptibleCommand
from config.runtime.request_context import actor
from documents.api.queries import parsed
from documents.importing import ImportRefused, import_lines
from documents.storage import StorageError
from workspaces.models import Workspace


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage", OSError: "A file"}
    unfinished = "what was imported before this stays, and the file can be imported again"
    help = "Imports documents with their PDFs (`documents.importing` describes the file)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace_id", help="as create_workspace printed it")
        text = "JSON Lines: documents as the API lists them, and `files`"
        parser.add_argument("file", type=Path, help=text)
        parser.add_argument("--strict", action="store_true", help="import all lines, or none")

    def handle(self, *, workspace_id: str, file: Path, strict: bool, **options: Any) -> None:
        id = parsed(workspace_id)
        workspace = Workspace.objects.filter(pk=id).first() if id else None
        if workspace is None:
            raise CommandError("There is no workspace with that id.")
        try:
            with file.open("rb") as content:
                where = content, file.parent
                counts = import_lines(workspace, *where, self.report, by=actor(), strict=strict)
        except ImportRefused as exc:
            raise CommandError(f"{exc} Nothing was imported.") from exc
        self.stdout.write(json.dumps(counts))
        if counts["refused"]:
            raise CommandError(f"Refused lines: {counts['refused']:,}. The others were imported.")
