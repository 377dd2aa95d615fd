"""The kinds of e-mails, and who gets them: most are about new entries of the audit log.

So the code that performs an action adds no e-mail. `housekeeping` finds the events that have no
entry.
"""

import logging
import threading
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, TextField, Value
from django.db.models.functions import Cast, Concat
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from audit.models import Action, AuditEntry
from workspaces.accounts.notices import address_of
from workspaces.mails import queue
from workspaces.mails.models import Choice, Mail, Notified
from workspaces.models import CAN_SIGN_IN, Membership

logger = logging.getLogger(__name__)

MODES = {"now": "At once", "daily": "Once a day", "off": "Never"}
DAILY_AT = 6  # o'clock, UTC
LOOK_BACK = timedelta(days=1)  # no e-mail is added about anything older
KEEP_NOTIFIED = timedelta(days=400)
EVERY = 2.0  # seconds between two looks for what is due

# The advice of each is in templates/mails/facts.txt.
KINDS = {
    "key_expiring": "A key expires within 14 days",
    "key_ended": "A revoked or expired key is still used",
    "key_network": "A key is used from a new network",
    "webhook": "A webhook fails or was switched off",
    "workspace": "Suspension and plan of a workspace",
    "admin": "A workspace has a new admin",
    "export": "Evidence or the audit log was exported",
    "operator": "Somebody was made an operator or support staff",
}
DEFAULTS = dict.fromkeys(KINDS, "now") | {"export": "daily"}  # of users who have not chosen
_KIND_OF = {
    Action.WEBHOOK_SWITCHED_OFF: "webhook",
    Action.WORKSPACE_SUSPENDED: "workspace",
    Action.WORKSPACE_REINSTATED: "workspace",
    Action.PLAN_CHANGED: "workspace",
    Action.MEMBER_ADDED: "admin",
    Action.MEMBER_ROLE_CHANGED: "admin",
    Action.EVIDENCE_EXPORTED: "export",
    Action.LOG_EXPORTED: "export",
    Action.OPERATOR_MADE: "operator",
    Action.SUPPORT_MADE: "operator",
}
_NO_ADMIN = Q(action__startswith="member.") & ~Q(detail__endswith=Membership.Role.ADMIN)
FACTS = {"Workspace": "workspace_name", "Account": "member", "Document": "document_title"}
FACTS |= {"Detail": "detail", "By": "person", "At": "created_at"}


def choices_of(user: User) -> list[tuple[str, str, str]]:
    """The kinds that the user may get, each with its title and mode."""
    found = Choice.objects.filter(user=user).first()
    modes = DEFAULTS | (found.modes if found else {})
    mine = {"export", "operator"} if user.is_superuser else set()
    if Membership.objects.admins().filter(user=user).exists():
        mine |= KINDS.keys() - {"operator"}
    return [(slug, title, modes[slug]) for slug, title in KINDS.items() if slug in mine]


@transaction.atomic
def choose(user_id: int, modes: dict[str, str]) -> None:
    """Stores choices; those of other kinds stay. What waits and is off now is not sent."""
    if not modes:
        return
    choice, _ = Choice.objects.select_for_update().get_or_create(user_id=user_id)
    choice.modes |= modes
    choice.save()
    off = [slug for slug, mode in modes.items() if mode == "off"]
    Mail.objects.filter(user_id=user_id, kind__in=off).delete()


def notify_of_log() -> None:
    """Adds the e-mails about new audit entries."""
    what = Concat(Value("entry "), Cast("pk", TextField()), output_field=TextField())
    new = AuditEntry.objects.annotate(what=what).filter(
        ~Exists(Notified.objects.filter(what=OuterRef("what"))),
        ~_NO_ADMIN,
        action__in=_KIND_OF,
        created_at__gte=timezone.now() - LOOK_BACK,
    )
    for entry in new.order_by("created_at")[:100]:
        about = entry.workspace_name or entry.member or "all workspaces"
        facts = {name: getattr(entry, field) for name, field in FACTS.items()}
        path = reverse("admin:audit_auditentry_change", args=[entry.pk])
        subject = f"{entry.action_label}: {about}"
        kind = _KIND_OF[Action(entry.action)]
        notify(kind, entry.what, entry.workspace_id, subject, facts, path)


@transaction.atomic
def notify(
    slug: str, what: str, workspace: UUID | None, subject: str, facts: dict[str, Any], path: str
) -> None:
    """Adds an e-mail for each admin of the workspace, without one for each operator.

    Not about what they did themselves, and not twice about the same `what`.
    """
    if not queue.available() or not Notified.objects.get_or_create(what=what)[1]:
        return
    admins = Membership.objects.admins().filter(workspace=workspace)
    operators = Q(is_superuser=True, **CAN_SIGN_IN)
    who = User.objects.filter(Q(pk__in=admins.values("user")) if workspace else operators)
    context = {"kind": slug, "facts": facts, "url": settings.BASE_URL and settings.BASE_URL + path}
    text = render_to_string("mails/facts.txt", context).strip()
    modes = dict(Choice.objects.filter(user__in=who).values_list("user", "modes"))
    now = timezone.now()
    daily = (now + timedelta(hours=24 - DAILY_AT)).replace(hour=DAILY_AT, minute=0, second=0)
    for user in who.exclude(username=facts.get("By")):
        mode, to = (DEFAULTS | modes.get(user.pk, {}))[slug], address_of(user)
        at = daily if mode == "daily" else now
        mail = Mail(to=to, user=user, kind=slug, daily=mode == "daily", planned_at=at, due_at=at)
        mail.subject, mail.text = " ".join(subject.split())[:500], text
        if to and mode != "off":
            mail.save()


def send_until(stopping: threading.Event) -> None:
    """Adds e-mails about new audit entries, and sends those that are due.

    Those that are being sent are finished before it ends.
    """
    while queue.available() and not stopping.wait(EVERY):
        try:
            notify_of_log()
            while not (settings.MAILBOX or stopping.is_set()) and queue.deliver():
                pass
        except Exception:
            logger.exception("E-mails wait")
            connection.close()
    connection.close()


def purge() -> None:
    """Deletes the notes of old e-mails."""
    Notified.objects.filter(at__lt=timezone.now() - KEEP_NOTIFIED).delete()
