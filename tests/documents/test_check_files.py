"""check_files finds stored files that are missing or damaged."""

import copy
import io
import json
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings

from documents import storage
from documents.models import StoredFile
from tests.support import factories
from tests.support.factories import Tenant


def check(*words: str) -> tuple[list[Any], str]:
    """The findings of the command, and its error."""
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
