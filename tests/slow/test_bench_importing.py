"""The benchmark's imports: their file, and when their targets hold."""

from pathlib import Path

import pytest
from django.test import Client

from bench import report
from bench.importing import Import, write_lines
from bench.loading import documents, identity
from bench.loading.__main__ import load_workspaces
from bench.scale import SCALES
from bench.stack import MB
from documents.models import Document, StoredFile
from tests.support.inbox import Inbox, objects


@pytest.mark.usefixtures("as_owner", "db")
def test_write_lines_writes_what_the_database_has_and_its_import_uploads_nothing(
    tmp_path: Path, client: Client
) -> None:
    loaded = identity.workspaces(SCALES["small"])[1]
    load_workspaces([loaded])
    documents.load([loaded])
    headers = {"Authorization": f"Bearer {loaded.keys[0].raw}"}
    write_lines(tmp_path, lambda path: client.get(path, headers=headers).content)
    before = list(Document.objects.order_by("pk").values())
    files, stored = list(StoredFile.objects.order_by("pk").values()), objects()
    counts = {"created": 0, "updated": loaded.documents, "files": 0}
    assert Inbox(tmp_path).run(loaded.id) == counts
    assert list(Document.objects.order_by("pk").values()) == before
    assert list(StoredFile.objects.order_by("pk").values()) == files
    assert objects() == stored


def one(documents: int, ms: float, megabytes: float) -> Import:
    """So much processor time a document, half of it the database's."""
    half = documents * ms / 2000
    return Import("", documents, 1, half, half, round(megabytes * MB))


@pytest.mark.parametrize(
    ("large", "linear", "flat"),
    [((1.2, 115), True, True), ((1.21, 99), False, True), ((1, 117), True, False)],
)
def test_imports_report_whether_they_are_linear_and_flat(
    large: tuple[float, float], linear: bool, flat: bool
) -> None:
    imports = [one(10, 1, 100), one(30, 9, 900), one(100, *large)]
    [_, _, time, memory, *_] = report.imports(imports)
    assert ("| holds |" in time, "| **fails** |" in time) == (linear, not linear)
    assert ("| holds |" in memory, "| **fails** |" in memory) == (flat, not flat)


def test_without_subtracts_the_processor_time_of_an_import_of_no_documents() -> None:
    start, whole = Import("", 0, 2, 1.5, 0.5, 100), Import("", 10, 5, 2.5, 1, 120)
    assert whole.without(start) == Import("", 10, 5, 1, 0.5, 120)
