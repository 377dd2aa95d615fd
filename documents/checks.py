from config.checks import asks_service
from documents import storage

HINT = "Check S3_ENDPOINT_URL, S3_BUCKET, S3_REGION and the keys."


@asks_service("documents.001", hint=HINT)
def object_storage() -> None:
    storage.probe()


@asks_service("documents.002", "readyz object_storage", hint=HINT)
def bucket() -> None:
    storage.check_bucket()
