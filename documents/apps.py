"""The documents app, and the group of those who may see all of it."""

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class DocumentsConfig(AppConfig):
    name = "documents"

    def ready(self) -> None:
        from documents.permissions import make_group  # noqa: PLC0415 - needs the models

        # Signalled app by app, in the order of INSTALLED_APPS: once it is auth's turn, the
        # permissions of the apps before it, ours among them, have been made.
        post_migrate.connect(make_group, apps.get_app_config("auth"), dispatch_uid="support")
