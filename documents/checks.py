"""The system check of object storage, for `manage.py check --deploy`: it sends requests."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
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
        public = _is_public(key)
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


def _is_public(key: str | None) -> bool:
    """Whether anyone can list the bucket, or read this object, without a key.

    Raises:
        storage.StorageError: object storage is out of reach.
    """
    from botocore import UNSIGNED  # noqa: PLC0415 - loaded with the views, as the others are
    from botocore.config import Config  # noqa: PLC0415

    from documents import storage  # noqa: PLC0415

    config = storage.CLIENT_CONFIG.merge(Config(signature_version=UNSIGNED))
    anyone = storage.PdfStorage(**settings.STORAGES["default"]["OPTIONS"], client_config=config)
    client, bucket = anyone.connection.meta.client, storage.bucket()
    requests: list[Callable[[], Any]] = [partial(client.list_objects_v2, Bucket=bucket, MaxKeys=1)]
    if key is not None:
        requests.append(partial(client.head_object, Bucket=bucket, Key=key))
    for request in requests:
        try:
            storage.request(key or "(the bucket)", request)
        except storage.OutOfReach:
            raise
        except storage.StorageError:
            continue  # refused, as it should be
        return True
    return False
