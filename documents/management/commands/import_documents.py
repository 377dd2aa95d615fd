"""import_documents WORKSPACE_ID FILE"""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from config.management.progress import InterruptibleCommand
from config.runtime.request_context import actor
from documents.importing import ImportRefused, import_file
from documents.storage import StorageError
from workspaces.models import Workspace


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage"}
    unfinished = "nothing was imported"
    help = "Imports documents with their PDFs (`documents.importing` describes the file)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace_id", help="as create_workspace printed it")
        parser.add_argument(
            "file", type=Path, help="JSON Lines: documents as the API lists them, and `files`"
        )

    def handle(self, *, workspace_id: str, file: Path, **options: Any) -> None:
        try:
            workspace = Workspace.objects.filter(pk=workspace_id).first()
        except (ValidationError, ValueError):
            workspace = None
        if workspace is None:
            raise CommandError("There is no workspace with that id.")
        try:
            counts = import_file(workspace, file, self.report, by=actor())
        except ImportRefused as exc:
            raise CommandError(str(exc)) from exc
        except OSError as exc:
            raise CommandError(f"{file} cannot be read: {exc.strerror}.") from exc
        self.stdout.write(json.dumps(asdict(counts)))
