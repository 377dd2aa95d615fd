"""The demo's workspaces and the users who sign in."""

from typing import NamedTuple
from uuid import NAMESPACE_DNS, UUID, uuid5

from django.contrib.auth.models import Group, User
from django.db import transaction

from config.runtime.request_context import actor
from workspaces import changes
from workspaces.models import Membership, Workspace
from workspaces.permissions import SUPPORT
from workspaces.plans import Plan


class Tenant(NamedTuple):
    """A workspace of the demo; its id is the same in every installation."""

    name: str
    plan: Plan
    suspended: bool = False

    @property
    def id(self) -> UUID:
        return uuid5(NAMESPACE_DNS, f"{self.name.lower()}.example")

    def create(self) -> Workspace:
        """Stores the workspace; the audit log says why it is suspended, if it is."""
        workspace = Workspace(id=self.id, name=self.name, plan=self.plan)
        changes.create_workspace(workspace, by=actor())
        if self.suspended:
            reason = "Invoice 2026-118 has not been paid for 60 days"
            changes.set_suspended(workspace, True, by=actor(), reason=reason)
        return workspace


ACME = Tenant("Acme", Plan.PRO)
UMBRELLA = Tenant("Umbrella", Plan.BUSINESS)
FREEBIE = Tenant("Freebie", Plan.FREE)
FROZEN = Tenant("Frozen", Plan.PRO, suspended=True)
TENANTS = (ACME, UMBRELLA, FREEBIE, FROZEN)


class Person(NamedTuple):
    """A user of the demo, and what for. One without a tenant is support staff or an operator."""

    login: str
    first_name: str
    last_name: str
    does: str
    tenant: Tenant | None
    role: Membership.Role = Membership.Role.ADMIN
    is_operator: bool = False


PEOPLE = (
    Person("ada@acme.example", "Ada", "Núñez", "admin of Acme", ACME),
    Person("uma@umbrella.example", "Uma", "Šimková", "admin of Umbrella", UMBRELLA),
    Person("felix@freebie.example", "Félix", "Moreau", "admin of Freebie (no API)", FREEBIE),
    Person("frida@frozen.example", "Frida", "Østby", "admin of Frozen (suspended)", FROZEN),
    Person("max@acme.example", "Max", "Grünwald", "member of Acme", ACME, Membership.Role.MEMBER),
    Person("sam@support.example", "Sam", "O'Leary", "support", None),
    Person("olga@operator.example", "Olga", "Ōta", "operator", None, is_operator=True),
)


@transaction.atomic
def create_people() -> None:
    """Creates the users, without passwords; their workspaces must exist."""
    for person in PEOPLE:
        user = User.objects.create_user(
            person.login,
            person.login,
            first_name=person.first_name,
            last_name=person.last_name,
            is_staff=True,
            is_superuser=person.is_operator,
        )
        if person.tenant:
            membership = Membership(user=user, workspace_id=person.tenant.id, role=person.role)
            changes.add_member(membership, by=actor())
        elif not person.is_operator:
            user.groups.add(Group.objects.get(name=SUPPORT))
