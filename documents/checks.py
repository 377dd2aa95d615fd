"""System checks of object storage: they send requests to it."""

from django.core.checks import Info

from config.checks import Found, asks_service

HINT = "Check S3_ENDPOINT_URL, S3_BUCKET, S3_REGION and the keys."


@asks_service("documents.001", hint=HINT)
def object_storage() -> Found:
    from documents import storage  # noqa: PLC0415 - loads boto3

    storage.probe()
    yield Info("Object storage: write, read, read a part, delete work.")


@asks_service("documents.002", "readyz object_storage", hint=HINT)
def bucket() -> Found:
    from documents import storage  # noqa: PLC0415 - loads boto3

    storage.check_bucket()
    yield Info("The bucket can be reached.")
