from django.core.checks import Info

from config.checks import Found, asks_service
from documents import storage

HINT = "Check S3_ENDPOINT_URL, S3_BUCKET, S3_REGION and the keys."


@asks_service("documents' files", "documents.001", hint=HINT)
def object_storage() -> Found:
    storage.probe()
    yield Info("Object storage writes, reads and deletes them.")


@asks_service("documents' files", "documents.002", "readyz object_storage", hint=HINT)
def bucket() -> Found:
    storage.check_bucket()
    yield Info(f"The bucket is {storage.STORE.bucket_name}.")
