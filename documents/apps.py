from typing import Any

from django.apps import AppConfig
from django.apps import apps as current_apps
from django.apps.registry import Apps
from django.db.models.signals import post_migrate


class DocumentsConfig(AppConfig):
    name = "documents"

    def ready(self) -> None:
        # post_migrate is sent for each app in the order of INSTALLED_APPS. When it is sent for
        # auth, the permissions of the apps before it, including ours, exist.
        post_migrate.connect(make_group, current_apps.get_app_config("auth"))


def make_group(apps: Apps = current_apps, **kwargs: Any) -> None:
    """Creates the group Support, whose permission is for what all workspaces have (`audit.scope`).

    It does not remove others. Runs after each `migrate`, and after the tests have emptied the
    tables. A migration would run too early: Django creates permissions after all migrations.
    """
    from workspaces.permissions import SUPPORT  # noqa: PLC0415 - needs the models

    try:
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=SUPPORT)
    except LookupError:  # auth is not migrated
        return
    permissions = apps.get_model("auth", "Permission").objects
    reads_all = {"content_type__app_label": "audit", "codename": "view_auditentry"}
    group.permissions.add(*permissions.filter(**reads_all))
