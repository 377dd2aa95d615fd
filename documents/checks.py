from collections.abc import Callable

from django.core.checks import CheckMessage, Error, Info

from config.checks import FILES, asks_service, words_of
from documents import storage

HINT = "Check `S3_ENDPOINT_URL`, `S3_BUCKET`, `S3_REGION` and the keys."


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
