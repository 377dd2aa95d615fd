"""check_files finds stored files that are missing or damaged."""

import copy
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone

from documents import storage
from documents.management.commands import check_files
from documents.models import StoredFile
from documents.storage import Missing
from tests.support import factories
from tests.support.factories import Tenant


def check(*words: str) -> tuple[list[Any], str]:
    out, error = io.StringIO(), ""
    try:
        call_command("check_files", *words, stdout=out, stderr=io.StringIO())
    except CommandError as exc:
        error = str(exc)
    return [*map(json.loads, out.getvalue().splitlines())], error


def put(file: StoredFile, content: bytes) -> None:
    """Overwrites the object, which the service never does."""
    storage.delete([file.object_key])
    storage.save(io.BytesIO(content), file.object_key)


def test_check_files_compares_sizes_and_with_read_the_content(acme: Tenant) -> None:
    document = factories.document(acme.workspace, "COMPLETED")
    assert check() == check("--read") == ([], "")
    file = document.signed
    assert file is not None
    content = b"".join(storage.read(file.object_key))
    put(file, content[:-1] + b"?")
    assert check() == ([], "")
    for changed, words, problem in (
        (content[:-1] + b"?", ["--read"], "damaged: SHA-256 is "),
        (content + b"?", [], f"has {len(content) + 1} bytes instead of {len(content)}"),
        (None, [], "missing"),
        (None, ["--read"], "missing"),
    ):
        if changed:
            put(file, changed)
        else:
            storage.delete([file.object_key])
        [finding], error = check(*words)
        assert finding["problem"].startswith(problem)
        assert (finding["object"], finding["sha256"]) == (file.object_key, file.sha256)
        assert finding["documents"] == [str(document.pk)]
        assert error == "Missing or damaged files: 1. See docs/reference.md."


def test_check_files_stops_when_there_is_no_bucket(acme: Tenant) -> None:
    factories.document(acme.workspace)
    stores = copy.deepcopy(settings.STORAGES)
    stores["default"]["OPTIONS"]["bucket_name"] = "no-such-bucket"
    with override_settings(STORAGES=stores), pytest.raises(CommandError, match="Object storage: "):
        call_command("check_files")


def test_check_files_deletes_objects_that_no_document_has_named_for_a_day(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = factories.document(acme.workspace, "COMPLETED")
    replaced, kept = document.original, document.signed
    document.original = factories.stored(factories.pdf("another"))
    document.deleted_at = timezone.now()
    document.save()
    aborted = storage.save(io.BytesIO(b"%PDF-1.7"))
    foreign = storage.save(io.BytesIO(b"x"), "reports/2026.pdf")
    factories.saved_objects.append(foreign)
    unnamed = {replaced.object_key, aborted}
    assert check("--orphans") == ([], "")  # they may be of an import under way
    monkeypatch.setattr(check_files, "AGE", timedelta())
    for words in (["--orphans"], ["--orphans", "--delete"]):
        found, error = check(*words)
        assert unnamed <= {each["object"] for each in found}
        assert kept is not None
        assert not {kept.object_key, document.original.object_key, foreign} & {
            each["object"] for each in found
        }
        assert error == ""
    assert check("--orphans") == check() == ([], "")
    assert storage.size_of(foreign) == 1
    for key in unnamed:
        with pytest.raises(Missing):
            storage.size_of(key)
    assert "needs --orphans" in check("--delete")[1]
