from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class DocumentsConfig(AppConfig):
    name = "documents"

    def ready(self) -> None:
        from documents.permissions import make_group  # noqa: PLC0415

        # post_migrate is sent for each app in the order of INSTALLED_APPS. When it is sent for
        # auth, the permissions of the apps before it, including ours, exist.
        post_migrate.connect(make_group, apps.get_app_config("auth"), dispatch_uid="support")
