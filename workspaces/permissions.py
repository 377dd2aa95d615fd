"""Who may do what in the admin, asked anew by every click.

Django's own permissions have no part in it: a superuser has all of them, and still no keys.
"""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from workspaces.models import Membership, Workspace

Person = User | AnonymousUser


def administered_by(person: Person) -> QuerySet[Workspace]:
    """The workspaces whose admin this person is: active staff with an ADMIN membership."""
    if not person.is_authenticated:
        return Workspace.objects.none()
    memberships = Membership.objects.admins().filter(user=person)
    return Workspace.objects.filter(memberships__in=memberships)


def is_workspace_admin(person: Person) -> bool:
    """Whether the person administers any workspace."""
    return administered_by(person).exists()


def is_operator(person: Person) -> bool:
    """Whether the person runs the service: plans, suspensions, memberships and accounts."""
    return person.is_active and person.is_staff and person.is_superuser
