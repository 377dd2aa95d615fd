"""The system check of object storage, for `manage.py check --deploy`: it sends requests."""

from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register
from django.db import Error as DatabaseError

from documents.models import StoredFile


@register(deploy=True)
def private_bucket(**kwargs: Any) -> list[CheckMessage]:
    """documents.E001: anyone can read the PDFs. documents.W001: this could not be checked."""
    from documents import storage  # noqa: PLC0415 - loaded with the views

    try:
        key = StoredFile.objects.values_list("object_key", flat=True).first()
    except DatabaseError:  # before the first `migrate`: there is nothing to read either
        key = None
    try:
        public = storage.is_public(key)
    except storage.StorageError as exc:
        return [
            Warning(
                f"Object storage is out of reach: {exc}",
                hint="Check S3_ENDPOINT_URL and run this command again.",
                id="documents.W001",
            )
        ]
    if not public:
        return []
    return [
        Error(
            "Anyone can list the bucket or read PDFs in it, without a key.",
            hint="Remove public access from the bucket and from its objects.",
            id="documents.E001",
        )
    ]
