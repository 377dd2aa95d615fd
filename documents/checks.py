import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, Info
from django.utils import timezone

from config.checks import DATABASE, FILES, asks_service, words_of
from documents import storage
from documents.models import FILE_TYPES, NOT_DELETED, Document

HINT = "Check `S3_ENDPOINT_URL`, `S3_BUCKET`, `S3_REGION` and the keys."
ROWS, MOST = 50, 5  # failed downloads that are looked at, and documents asked for again


def fault(look: Callable[[], None]) -> list[CheckMessage]:
    """An error in plain words, and what the storage's client says, which is a detail."""
    try:
        look()
    except storage.StorageError as exc:
        silent = isinstance(exc, storage.OutOfReach)
        why = "is out of reach" if silent else "refuses requests"
        text = f"Downloads and imports fail, since object storage {why}."
        hint = "Check that it runs, and `S3_ENDPOINT_URL`." if silent else HINT
        return [Error(text, hint=hint), words_of(exc)]
    return []


@asks_service(FILES, "documents.001", hint=HINT)
def object_storage() -> list[CheckMessage]:
    """Finds what `bucket` does not: one fault is one finding."""
    if fault(storage.check_bucket):
        return []
    return fault(storage.probe) or [Info("Object storage writes, reads and deletes them.")]


@asks_service(FILES, "documents.002", "readyz object_storage", hint=HINT)
def bucket() -> list[CheckMessage]:
    return fault(storage.check_bucket) or [Info(f"The bucket is {storage.STORE.bucket_name}.")]


@asks_service(FILES, "documents.003", hint=DATABASE)
def lost_files() -> Iterator[CheckMessage]:
    """Asks again for the files of documents whose downloads failed within 24 hours.

    First for those that object storage did not have.
    """
    lost: list[str] = []
    refusals: Any = apps.get_model("usage", "RefusedRequest")  # neither app imports the other
    since = timezone.now() - timedelta(days=1)
    failed = refusals.objects.filter(status=503, created_at__gte=since).order_by("-created_at")
    paths: list[str] = []
    for reason in ("object storage: ", "object storage "):  # of one file, and of an outage
        rows = failed.filter(reason__startswith=reason)
        paths += rows.values_list("path", flat=True)[:ROWS]
    ids = re.findall("/documents/([0-9a-f-]{36})/download", " ".join(paths).lower())
    if ids and fault(storage.check_bucket):
        return  # one fault is one finding
    newest = list(dict.fromkeys(ids))[:MOST]
    documents = Document.objects.filter(NOT_DELETED, pk__in=newest)
    for document in documents.select_related("workspace", *FILE_TYPES):
        for type in FILE_TYPES:
            try:
                if file := getattr(document, type):
                    storage.require(file.object_key, file.size)
                    storage.open_object(file.object_key, 1, "bytes=0-0").read()
            except storage.StorageError:
                lost.append(f"the {type} one of document {document.pk}, of {document.workspace}")
                break
    if lost:
        text = f"Files cannot be read: {'; '.join(lost)}."
        yield Error(text, hint="`manage.py check_files` finds all that are lost.")
