"""The group Support, which may see the audit log and the documents of every workspace."""

from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps

from workspaces.permissions import SUPPORT

PERMISSIONS = ("view_auditentry", "view_document")


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
    group.permissions.add(*permissions.filter(codename__in=PERMISSIONS))
