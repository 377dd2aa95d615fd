"""The demo's workspaces and the people who sign in."""

from dataclasses import dataclass
from uuid import NAMESPACE_DNS, UUID, uuid5

from django.contrib.auth.models import Group, User
from django.db import transaction

from documents.permissions import GROUP
from workspaces.models import Membership, Workspace
from workspaces.plans import Plan


@dataclass(frozen=True)
class Tenant:
    """A workspace of the demo; its id is the same in every installation."""

    name: str
    plan: Plan
    suspended: bool = False

    @property
    def domain(self) -> str:
        return f"{self.name.lower()}.example"

    @property
    def id(self) -> UUID:
        return uuid5(NAMESPACE_DNS, self.domain)

    def create(self) -> Workspace:
        """The workspace, made unless it is there."""
        workspace, _ = Workspace.objects.get_or_create(
            pk=self.id,
            defaults={"name": self.name, "plan": self.plan, "suspended": self.suspended},
        )
        return workspace


ACME = Tenant("Acme", Plan.PRO)
UMBRELLA = Tenant("Umbrella", Plan.BUSINESS)
FREEBIE = Tenant("Freebie", Plan.FREE)
FROZEN = Tenant("Frozen", Plan.PRO, suspended=True)
TENANTS = (ACME, UMBRELLA, FREEBIE, FROZEN)


@dataclass(frozen=True)
class Person:
    """Someone who signs in.

    Attributes:
        tenant: whose member they are; None for support staff, who belong to no workspace.
        does: what they are here for, in a few words.
    """

    login: str
    first_name: str
    last_name: str
    does: str
    tenant: Tenant | None
    role: Membership.Role = Membership.Role.ADMIN


PEOPLE = (
    Person("ada@acme.example", "Ada", "Núñez", "admin of Acme", ACME),
    Person("uma@umbrella.example", "Uma", "Šimková", "admin of Umbrella", UMBRELLA),
    Person("felix@freebie.example", "Félix", "Moreau", "admin of Freebie (no API)", FREEBIE),
    Person("frida@frozen.example", "Frida", "Østby", "admin of Frozen (suspended)", FROZEN),
    Person(
        "max@acme.example", "Max", "Grünwald", "member of Acme", ACME, role=Membership.Role.MEMBER
    ),
    Person("sam@support.example", "Sam", "O'Leary", "support", None),
)


@transaction.atomic
def create_people() -> None:
    """Makes the people, unless they are there, without passwords; their workspaces are there."""
    for person in PEOPLE:
        user, new = User.objects.get_or_create(
            username=person.login,
            defaults={
                "email": person.login,
                "first_name": person.first_name,
                "last_name": person.last_name,
                "is_staff": True,
            },
        )
        if new:
            user.set_unusable_password()
            user.save()
        if person.tenant is None:
            user.groups.add(Group.objects.get(name=GROUP))
        else:
            Membership.objects.get_or_create(
                workspace_id=person.tenant.id, user=user, defaults={"role": person.role}
            )
