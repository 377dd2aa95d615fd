"""The documents app: the group Support, a health check, a system check."""

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models.signals import post_migrate

from config.console import system


class DocumentsConfig(AppConfig):
    name = "documents"

    def ready(self) -> None:
        from config.runtime import health  # noqa: PLC0415 - needs the settings
        from documents import checks  # noqa: F401, PLC0415 - registers it
        from documents.permissions import make_group  # noqa: PLC0415

        # post_migrate is sent for each app in the order of INSTALLED_APPS. When it is sent for
        # auth, the permissions of the apps before it, including ours, exist.
        post_migrate.connect(make_group, apps.get_app_config("auth"), dispatch_uid="support")
        health.register("object_storage", check_storage, required=False)
        system.register("Witness of the audit log", read_witness, brief=False)
        remedy = "Check S3_ENDPOINT_URL, S3_BUCKET and the keys, and deploy/storage-policy.json"
        system.register("Object storage", read_storage, only="doctor", remedy=remedy)


def check_storage() -> None:
    """Raises an exception if object storage is out of reach or refuses."""
    from documents import storage  # noqa: PLC0415 - loaded with the views

    storage.check_bucket()


def read_storage() -> list[system.Fact]:
    """Whether an object can be written, read and deleted; and the clock of object storage."""
    from config.console.system.database import clock_fact  # noqa: PLC0415 - needs the models
    from documents import storage  # noqa: PLC0415 - loaded with the views

    clock = clock_fact("Clock", storage.clock_ahead())
    if clock.state == "bad":
        return [clock]  # which is why it refuses everything
    storage.probe()
    return [clock, system.Fact("Write, read, range, delete", "work", "ok")]


def read_witness() -> list[system.Fact]:
    """Whether the audit log's bucket keeps what it has. The service's key may ask no more of it."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    from audit.sealing.witnesses import object_lock  # noqa: PLC0415
    from documents import storage  # noqa: PLC0415 - loaded with the views

    label = "The bucket of checkpoints"
    if "witness" not in settings.STORAGES:
        return [system.Fact(label, "none: who administers this machine has all copies")]
    bucket = settings.STORAGES["witness"]["OPTIONS"]["bucket_name"]
    try:
        locked = object_lock(storage.client(), bucket)
    except (BotoCoreError, ClientError) as exc:
        return [system.Fact(label, f"whether its objects are locked is unknown: {exc}", "warn")]
    if not locked:
        return [system.Fact(label, "no object lock: who has its keys can delete them", "warn")]
    return [system.Fact(label, f"objects are locked: {locked}", "ok")]
