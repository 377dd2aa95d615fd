"""The group Support, which may see the audit log and the documents of every workspace."""

from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps

from workspaces.permissions import SUPPORT

PERMISSIONS = {"audit": "view_auditentry", "documents": "view_document"}  # by their apps


def make_group(apps: Apps = current_apps, **kwargs: Any) -> None:
    """Creates the group and adds its permissions; it does not remove others.

    Runs after each `migrate`, and after the tests have emptied the tables. A migration would run
    too early: Django creates permissions after all migrations.
    """
    try:
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=SUPPORT)
    except LookupError:  # auth is not migrated
        return
    permissions = apps.get_model("auth", "Permission").objects
    for app, codename in PERMISSIONS.items():
        group.permissions.add(*permissions.filter(content_type__app_label=app, codename=codename))
