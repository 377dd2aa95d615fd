"""System checks of object storage: they send requests to it."""

from django.core.checks import Error, Info, Tags

from config.checks import Found, finds
from documents.models import StoredFile

BUCKET = "Check S3_ENDPOINT_URL, S3_BUCKET, S3_REGION and the keys."


@finds("documents.001", Tags.database, hint=BUCKET)
def object_storage() -> Found:
    """Whether objects can be written, read and deleted; and its clock, which signatures need."""
    from documents import storage  # noqa: PLC0415 - loads boto3

    ahead = storage.clock_ahead()
    text = f"The clocks of object storage and of this machine differ by {abs(ahead):.0f} s."
    yield Error if abs(ahead) > 60 else Info, text, "Synchronise both clocks."
    storage.probe()
    yield Info, "Object storage: write, read, read a part, delete work.", ""


@finds("documents.002", Tags.database, hint=BUCKET)
def private_bucket() -> Found:
    """Whether anyone can read the PDFs."""
    from documents import storage  # noqa: PLC0415 - loads boto3

    if storage.is_public(StoredFile.objects.values_list("object_key", flat=True).first()):
        text = "Anyone can list the bucket or read PDFs in it, without a key."
        yield Error, text, "Remove public access from the bucket and from its objects."
