"""The loaded documents as a file to import: `python -m bench.loading.importable FOLDER`.

The files of all documents are the same PDF, which lies beside that file.
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

LINES, PDF = "documents.jsonl", "document.pdf"
PAGE = 1_000  # documents read at a time
CONTENT = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj
xref
0 4
0000000000 65535 f\x20
0000000009 00000 n\x20
0000000052 00000 n\x20
0000000101 00000 n\x20
trailer<</Size 4/Root 1 0 R>>
startxref
164
%%EOF
"""


def give_pdf() -> None:
    """Makes it the PDF of every document in the database. The store has none of their objects."""
    from django.db import connection  # noqa: PLC0415 - the settings read the environment

    size, digest = len(CONTENT), hashlib.sha256(CONTENT).hexdigest()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE documents_storedfile SET size = %s, sha256 = %s", [size, digest])
        cursor.execute("UPDATE documents_document SET page_count = 1, file_size = %s", [size])


def _documents() -> Iterator[Any]:
    """Those of the only workspace, as the API lists them."""
    from documents.api.queries import newest, recipients_of  # noqa: PLC0415
    from documents.api.serializers import document_objects  # noqa: PLC0415
    from workspaces.models import Workspace  # noqa: PLC0415

    workspace, last = Workspace.objects.get(), None
    while page := newest(workspace.pk, None, last, PAGE):
        found = document_objects(page, recipients_of(page))
        yield from found
        last = (found[-1].created_at, UUID(found[-1].id))


def write(folder: Path) -> None:
    """Writes the file, newest documents first, and the PDF."""
    import msgspec  # noqa: PLC0415

    from config.api.responses import as_json  # noqa: PLC0415
    from documents.api.parameters import FILE_TYPES  # noqa: PLC0415

    (folder / PDF).write_bytes(CONTENT)
    with (folder / LINES).open("wb") as lines:
        for document in _documents():
            types = FILE_TYPES if document.status == "COMPLETED" else ["original"]
            files = {"files": dict.fromkeys(types, PDF)}
            lines.write(as_json(msgspec.to_builtins(document) | files) + b"\n")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    write(Path(sys.argv[1]))
