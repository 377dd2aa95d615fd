"""The demo: four made-up workspaces with documents, recipients, PDFs and users.

The documents come through the importer, with their times shifted to end now. They and their
workspaces are older than the audit log, whose entries have the time at which they are written.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_DNS, UUID, uuid5

from django.contrib.auth.models import Group, User

from config.management.progress import Report
from config.request.context import actor
from documents.importing.importer import Importer
from workspaces import changes
from workspaces.models import Membership, Workspace
from workspaces.permissions import SUPPORT
from workspaces.plans import Plan

DATA = Path(__file__).parent / "data"  # one file of documents per workspace, and their PDFs
END = datetime(2026, 7, 1, 12, tzinfo=UTC)  # the present moment of the data
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")  # in the data


class Tenant(NamedTuple):
    """A workspace of the demo; its id is the same in every installation."""

    name: str
    plan: Plan
    suspended: bool = False

    @property
    def id(self) -> UUID:
        return uuid5(NAMESPACE_DNS, f"{self.name.lower()}.example")


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
    tenant: Tenant | None = None
    role: Membership.Role = Membership.Role.ADMIN


PEOPLE = (
    Person("ada@acme.example", "Ada", "Núñez", "admin of Acme", ACME),
    Person("uma@umbrella.example", "Uma", "Šimková", "admin of Umbrella", UMBRELLA),
    Person("felix@freebie.example", "Félix", "Moreau", "admin of Freebie (no API)", FREEBIE),
    Person("frida@frozen.example", "Frida", "Østby", "admin of Frozen (suspended)", FROZEN),
    Person("max@acme.example", "Max", "Grünwald", "member of Acme", ACME, Membership.Role.MEMBER),
    Person("sam@support.example", "Sam", "O'Leary", "support"),
    Person("olga@operator.example", "Olga", "Ōta", "operator"),
)


def load(report: Report, password_of: Callable[[str], str]) -> None:
    shift = datetime.now(UTC).replace(microsecond=0) - END

    def shifted(found: re.Match[str]) -> str:
        return (datetime.fromisoformat(found[0]) + shift).isoformat()

    for tenant in TENANTS:
        report(f"Importing the documents of {tenant.name} …")
        workspace = Workspace.objects.create(id=tenant.id, name=tenant.name, plan=tenant.plan)
        if tenant.suspended:
            changes.set_suspended(workspace, True, by=actor(), reason="Invoice 118 is not paid")
        text = (DATA / f"{tenant.name.lower()}.jsonl").read_text(encoding="utf-8")
        lines = TIME.sub(shifted, text).encode().splitlines()
        Importer(workspace, DATA, report).run(lines, strict=True)
        workspace.created_at = workspace.documents.earliest("created_at").created_at
        workspace.save(update_fields=["created_at"])
    for person in PEOPLE:
        _create(person, password_of(person.login))


def _create(person: Person, password: str) -> None:
    operator = person.does == "operator"
    names = {"first_name": person.first_name, "last_name": person.last_name}
    rights = {"is_staff": True, "is_superuser": operator}
    user = User.objects.create_user(person.login, person.login, password, **names, **rights)
    if person.tenant:
        workspace = Workspace.objects.get(pk=person.tenant.id)
        changes.add_member(workspace, user, person.role, by=actor())
    elif not operator:
        user.groups.add(Group.objects.get(name=SUPPORT))
