"""The benchmark's imports: what they import, and when they count as linear and as flat."""

from pathlib import Path

import pytest

from bench import report
from bench.importing import Import, Imports
from bench.loading import documents, identity, importable
from bench.scale import SCALES
from bench.stack import MB
from documents.models import Document, StoredFile
from tests.inbox import Inbox, objects
from workspaces.models import Workspace


@pytest.mark.usefixtures("db")
def test_the_file_to_import_is_what_the_database_has_and_uploads_nothing(tmp_path: Path) -> None:
    one = identity.workspaces(SCALES["small"], identity.Secret(b"test"))[1]
    workspace = Workspace.objects.create(id=one.id, name=one.name)
    documents.load([one])
    importable.give_pdf()
    importable.write(tmp_path)
    before = list(Document.objects.order_by("pk").values())
    files, stored = list(StoredFile.objects.order_by("pk").values()), objects()
    inbox = Inbox(tmp_path)
    assert inbox.run(workspace) == {"created": 0, "updated": one.documents, "files": 0}
    assert list(Document.objects.order_by("pk").values()) == before
    assert list(StoredFile.objects.order_by("pk").values()) == files
    assert objects() == stored


def one(documents: int, ms: float, megabytes: float) -> list[Import]:
    """One round: so much processor time a document, half of it the database's."""
    half = documents * ms / 2000
    return [Import(documents, 1, half, half, round(megabytes * MB))]


@pytest.mark.parametrize(
    ("large", "linear", "flat"),
    [
        ((1.2, 115), True, True),
        ((1.21, 99), False, True),
        ((1, 117), True, False),
    ],
)
def test_an_import_is_linear_and_flat_when_the_largest_file_is(
    large: tuple[float, float], linear: bool, flat: bool
) -> None:
    lines = {10: one(10, 1, 100), 30: one(30, 9, 900), 100: one(100, *large)}
    [_, _, time, memory, *_] = report.imported(Imports([Import(0, 1, 1, 1, 90 * MB)], lines))
    assert ("| holds |" in time, "| **fails** |" in time) == (linear, not linear)
    assert ("| holds |" in memory, "| **fails** |" in memory) == (flat, not flat)


def test_what_an_import_of_no_documents_takes_is_taken_off_its_processor_time() -> None:
    start, whole = Import(0, 2, 1.5, 0.5, 100), Import(10, 5, 2.5, 1, 120)
    assert whole.beyond(start) == Import(10, 5, 1, 0.5, 120)
