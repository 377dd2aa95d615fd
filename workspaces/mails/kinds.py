"""What users are told of by e-mail, and whom: most of it follows from new audit entries.

Nothing adds e-mails where a thing is done: the audit log has it, in the same transaction. Others
are found now and then by `housekeeping`.
"""

from datetime import datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from audit.models import NO_DOWNLOADS, Action, AuditEntry
from workspaces.accounts.notices import address_of
from workspaces.mails.models import Choice, Mail, Told
from workspaces.models import Membership

MODES = {"now": "At once", "daily": "Once a day", "off": "Never"}
DAILY_AT = time(6)  # UTC
LOOK_BACK = timedelta(days=1)  # in the audit log: what is older is not told any more
BATCH = 100  # entries that are looked at once
KEEP_TOLD = timedelta(days=400)


class Kind(NamedTuple):
    """A kind of e-mail.

    Attributes:
        title: in the choices.
        advice: the end of the text.
        actions: of audit entries that lead to it, for the admins of their workspace.
        only: what the detail of such an entry ends with.
        mode: what a user gets who has not chosen.
        operators: whether those get it too, of entries without a workspace.
    """

    title: str
    advice: str
    actions: tuple[Action, ...] = ()
    only: str = ""
    mode: str = "now"
    operators: bool = False


KINDS = {
    "key_expiring": Kind("A key expires within 14 days", "Roll it before, or let it end."),
    "key_ended": Kind(
        "A revoked or expired key is still used",
        "A program still sends it and is refused. Give it another key, or find out whose it is.",
    ),
    "key_network": Kind(
        "A key is used from a new network",
        "If that is no program of yours, roll the key at once.",
    ),
    "webhook": Kind(
        "A webhook fails or was switched off",
        "Events that happen while it is off are not sent to it, also not later: read them with "
        "GET /api/v1/events, which keeps them for 30 days. Repair it, then switch it on again.",
        (Action.WEBHOOK_SWITCHED_OFF,),
    ),
    "workspace": Kind(
        "Suspension and plan of a workspace",
        "Who uses the API of a suspended workspace, or of one without the API, is refused.",
        (Action.WORKSPACE_SUSPENDED, Action.WORKSPACE_REINSTATED, Action.PLAN_CHANGED),
    ),
    "admin": Kind(
        "A workspace has a new admin",
        "If that is not right, remove the member on the workspace's page.",
        (Action.MEMBER_ADDED, Action.MEMBER_ROLE_CHANGED),
        only=Membership.Role.ADMIN,
    ),
    "export": Kind(
        "Evidence or the audit log was exported",
        "If that is not right, look into the audit log.",
        (Action.EVIDENCE_EXPORTED, Action.LOG_EXPORTED),
        mode="daily",
        operators=True,
    ),
    "operator": Kind(
        "Somebody was made an operator or support staff",
        "If that is not right, end it on the page of the account, and look into the audit log.",
        (Action.OPERATOR_MADE, Action.SUPPORT_MADE),
        operators=True,
    ),
}
_KIND_OF = {action: slug for slug, kind in KINDS.items() for action in kind.actions}
OF_OPERATORS = {slug for slug, kind in KINDS.items() if kind.operators}


def choices_of(user: User) -> list[tuple[str, Kind, str]]:
    """The kinds that the user may get, each with what the user gets of it now."""
    found = Choice.objects.filter(user=user).first()
    mine = OF_OPERATORS if user.is_superuser else set()
    if Membership.objects.admins().filter(user=user).exists():
        mine = mine | KINDS.keys() - {"operator"}
    modes = found.modes if found else {}
    return [
        (slug, each, modes.get(slug, each.mode)) for slug, each in KINDS.items() if slug in mine
    ]


def tell_of_log() -> None:
    """Adds the e-mails about new audit entries; nobody gets one about what they did themselves."""
    told = Told.objects.filter(what=OuterRef("what"))
    named = AuditEntry.objects.annotate(
        what=Concat(Value("entry "), Cast("pk", TextField()), output_field=TextField())
    )
    new = named.filter(
        ~Exists(told), NO_DOWNLOADS, action__in=_KIND_OF, created_at__gte=timezone.now() - LOOK_BACK
    )
    for entry in new.order_by("created_at")[:BATCH]:
        slug = _KIND_OF[Action(entry.action)]
        facts = {
            "Workspace": entry.workspace_name,
            "Account": entry.member,
            "Document": entry.document_title,
            "Detail": entry.detail,
            "By": entry.person,
            "Time": f"{entry.created_at:%Y-%m-%d %H:%M} UTC",
        }
        path = reverse("admin:audit_auditentry_change", args=[entry.pk])
        subject = (
            f"{entry.action_label}: {entry.workspace_name or entry.member or 'all workspaces'}"
        )
        wanted = entry.detail.endswith(KINDS[slug].only)
        who = readers(entry.workspace_id).exclude(username=entry.person)
        tell(slug, entry.what, who if wanted else who.none(), subject, facts, path)


def readers(workspace_id: UUID | None) -> QuerySet[User]:
    """The admins of the workspace; without one, the operators."""
    if workspace_id is None:
        return User.objects.filter(is_superuser=True, is_active=True, is_staff=True)
    admins = Membership.objects.admins().filter(workspace=workspace_id)
    return User.objects.filter(pk__in=admins.values("user"))


def tell(
    slug: str, what: str, who: QuerySet[User], subject: str, facts: dict[str, str], path: str
) -> None:
    """Adds an e-mail for each of the users, as each has chosen, unless `what` was told before."""
    with transaction.atomic():
        if not Told.objects.get_or_create(what=what)[1]:
            return
        context = {
            "facts": {name: value for name, value in facts.items() if value},
            "advice": KINDS[slug].advice,
            "url": f"{settings.BASE_URL}{path}" if settings.BASE_URL else "",
        }
        text = render_to_string("mails/facts.txt", context).strip()
        modes = dict(Choice.objects.filter(user__in=who).values_list("user", "modes"))
        for user in who:
            mode = modes.get(user.pk, {}).get(slug, KINDS[slug].mode)
            to = address_of(user)
            if to and mode != "off":
                daily = mode == "daily"
                at = next_daily() if daily else timezone.now()
                Mail.objects.create(
                    to=to,
                    user=user,
                    kind=slug,
                    daily=daily,
                    subject=" ".join(subject.split())[:500],
                    text=text,
                    planned_at=at,
                    due_at=at,
                )


def next_daily() -> datetime:
    """When the next daily e-mails are sent."""
    now = timezone.now()
    today = datetime.combine(now.date(), DAILY_AT, now.tzinfo)
    return today if today > now else today + timedelta(days=1)


def purge() -> None:
    """Forgets what was told long ago."""
    Told.objects.filter(at__lt=timezone.now() - KEEP_TOLD).delete()
