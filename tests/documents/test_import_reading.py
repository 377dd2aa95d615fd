"""The memory of an import: little, however long the file is."""

import gc
import hashlib
import io
import json
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.db import transaction

from documents.importing.files import CheckedFile
from documents.importing.parser import lines, parse
from documents.importing.problems import SHOWN_PROBLEMS, ImportRefused, Problems
from documents.importing.staging import BATCH, BATCH_RECIPIENTS, Staging
from documents.importing.validation import Record, validate
from tests.support.factories import Tenant, uid
from tests.support.inbox import sent, signer

MB = 1024 * 1024
FILES = {"original": CheckedFile("original.pdf", size=1, pages=1, sha256="0" * 64)}


@contextmanager
def at_most(size: float) -> Iterator[None]:
    """Fails when the memory of what is done inside exceeds a size in bytes.

    What earlier tests left is collected before, and no other thread runs unless this one waits.
    """
    gc.collect()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        sys.setswitchinterval(interval)
    assert peak < size


def records(count: int, id: str | None = None) -> Iterator[Record]:
    """Valid documents; with an id, it is that of each document and of its recipient."""
    for line in range(1, count + 1):
        recipient = signer(id=id or str(uuid4()), declineReason="x" * 1000)
        document = validate(
            sent(id=id or str(uuid4()), recipients=[recipient], pageCount=1, fileSize=1)
        )
        yield Record(line, "document Lease", document, FILES)


def test_lines_of_a_long_file_are_in_memory_one_at_a_time() -> None:
    text = "\n".join(json.dumps({"number": n, "title": "x" * 10_000}) for n in range(1_000))
    file = io.BytesIO(text.encode())
    del text
    with at_most(MB / 2):
        for number, line in lines(file, Problems(), hashlib.sha256()):
            assert parse(line)["number"] == number - 1
    assert number == 1_000


def test_staging_returns_what_it_was_given_in_batches(acme: Tenant) -> None:
    given = list(records(BATCH + 5))
    with transaction.atomic():
        staging = Staging()
        staging.fill(given)
        assert list(staging.batches()) == [given[:BATCH], given[BATCH:]]
        assert staging.documents == BATCH + 5
        assert not list(Staging().batches())[0]


def test_staging_ends_a_batch_when_it_has_many_recipients(acme: Tenant) -> None:
    recipients = [signer()] * (BATCH_RECIPIENTS // 2)
    document = validate(sent(recipients=recipients, pageCount=1, fileSize=1))
    staging = Staging()
    staging.fill(Record(line, "document Lease", document, FILES) for line in range(1, 6))
    assert [len(batch) for batch in staging.batches()] == [2, 2, 1]


def test_staging_keeps_documents_and_their_ids_out_of_memory(acme: Tenant) -> None:
    staging, problems = Staging(), Problems()
    with at_most(2 * MB):
        staging.fill(records(3_000))
        staging.check_ids(acme.workspace, problems)
        assert sum(len(batch) for batch in staging.batches()) == 3_000
    assert not problems.count


def test_staging_finds_every_repeated_id_in_little_memory(acme: Tenant) -> None:
    staging, problems = Staging(), Problems()
    with at_most(MB):
        staging.fill(records(1_000, str(uid(1))))
        staging.check_ids(acme.workspace, problems)
    assert problems.count == 2 * 999
    with pytest.raises(ImportRefused) as caught:
        problems.raise_if_any("file")
    first, *shown, last = str(caught.value).splitlines()
    assert first == "1,998 problems in file; nothing was imported."
    assert last == "and 1,898 more"
    assert shown[:2] == [
        f"line 2, document Lease, {field}: {uid(1)} is on line 1 already"
        for field in ("id", "recipients[0].id")
    ]
    assert len(shown) == SHOWN_PROBLEMS
