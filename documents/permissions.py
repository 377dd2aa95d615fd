"""Support staff: the group that sees the audit history and the documents of every workspace."""

from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps
from django.db.models import Q
from django.http import HttpRequest

from config.admin.base import request_user

GROUP = "Support"
# What it may view; nothing may it change. (app, permission)
VIEWS = (
    ("audit", "view_auditentry"),
    ("documents", "view_document"),
    ("documents", "view_recipient"),
)


def make_group(apps: Apps = current_apps, **kwargs: Any) -> None:
    """Makes the group and gives it what it lacks; what an operator has added to it stays.

    Runs after each `migrate`, and after the tests have emptied the tables. A migration of its own
    would come too early: permissions are made when all migrations are done.
    """
    try:
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=GROUP)
    except LookupError:  # migrated back to before there were groups
        return
    wanted = Q()
    for app, codename in VIEWS:
        wanted |= Q(content_type__app_label=app, codename=codename)
    group.permissions.add(*apps.get_model("auth", "Permission").objects.filter(wanted))


def may_view(request: HttpRequest, permission: str) -> bool:
    """Whether an active member of staff has one of this app's permissions, asked anew each time."""
    who = request_user(request)
    return who.is_active and who.is_staff and who.has_perm(f"documents.{permission}")
