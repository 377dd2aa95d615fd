"""The loaded documents as a file to import: `python -m bench.loading.importable FOLDER`."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from bench.loading.documents import pdf

LINES, FILE = "documents.jsonl", "document.pdf"
PAGE = 1_000  # documents read at a time


def _documents() -> Iterator[Any]:
    """Those of the only workspace, as the API lists them."""
    from documents.reading import newest, recipients_of  # noqa: PLC0415
    from documents.serializers import document_objects  # noqa: PLC0415
    from workspaces.models import Workspace  # noqa: PLC0415

    workspace, last = Workspace.objects.get(), None
    while page := newest(workspace.pk, None, last, PAGE):
        found = document_objects(page, recipients_of(page))
        yield from found
        last = (found[-1].created_at, UUID(found[-1].id))


def write(folder: Path) -> None:
    """Writes the file, newest documents first, and beside it the PDF of all of them."""
    import msgspec  # noqa: PLC0415

    from config.answers import as_json  # noqa: PLC0415
    from documents.parameters import FILE_TYPES  # noqa: PLC0415

    (folder / FILE).write_bytes(pdf())
    with (folder / LINES).open("wb") as lines:
        for document in _documents():
            types = FILE_TYPES if document.status == "COMPLETED" else ["original"]
            files = {"files": dict.fromkeys(types, FILE)}
            lines.write(as_json(msgspec.to_builtins(document) | files) + b"\n")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    write(Path(sys.argv[1]))
