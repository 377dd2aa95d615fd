"""E-mails: a page adds one to a table, in its transaction, and a thread of `housekeeping --follow`
sends it at once.

If the process is killed after it has sent an e-mail and before it has stored that, the e-mail is
sent a second time.
"""

import logging
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.db import close_old_connections
from django.db.models import Model, Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from config.management.progress import first_line
from config.request.context import client_info
from workspaces.models import CAN_SIGN_IN, Mail, Membership, Workspace

logger = logging.getLogger(__name__)

EVERY = 2.0  # seconds between two looks for what is due
RETRY = timedelta(minutes=5)
KEEP_TRYING = timedelta(days=1)
KEEP_ABOUT = timedelta(days=30)  # then an admin is told again


def available() -> bool:
    return bool(settings.EMAIL_HOST)


def address_of(user: User) -> str:
    """Where the user reads e-mails: most logins are addresses; "" if nothing is one."""
    return next((each for each in (user.email, user.username) if "@" in each), "")


def send(to: Iterable[str], subject: str, template: str, facts: dict[str, Any]) -> None:
    """Adds e-mails about an account. One to "" is never sent, and takes as long to add."""
    if available():
        text = render_to_string(template, facts).strip()
        Mail.objects.bulk_create(Mail(to=each, subject=subject, text=text) for each in to)


def tell_account(
    account: User, what: str, *details: str, by: str, and_operators: bool = False
) -> None:
    """Adds an e-mail about the account's security. Nobody can choose not to get it."""
    address, _ = client_info()
    facts = {"what": what, "account": account, "details": details, "by": by, "address": address}
    facts |= {"base_url": settings.BASE_URL, "support_email": settings.SUPPORT_EMAIL}
    told = [account]
    if and_operators:
        told += User.objects.filter(is_superuser=True, **CAN_SIGN_IN)
    to = {address_of(each).lower() for each in told} - {""}
    send(sorted(to), f"{what}: {account}", "registration/account_email.txt", facts)


def tell_admins(
    workspace: Workspace, subject: str, text: str, page_of: Model, about: str = ""
) -> None:
    """Adds an e-mail, with a link to a page, for each admin of the workspace who wants e-mails.

    No address gets two, or another one with the same `about` within 30 days.
    """
    if available():
        model = page_of._meta
        path = reverse(f"admin:{model.app_label}_{model.model_name}_change", args=[page_of.pk])
        text += settings.BASE_URL and f"\n\n{settings.BASE_URL}{path}"
        admins = Membership.objects.admins().filter(workspace=workspace, user__no_mails=None)
        addresses = {address_of(each.user).lower() for each in admins.select_related("user")} - {""}
        mails = [
            Mail(to=each, subject=subject, text=text, about=about) for each in sorted(addresses)
        ]
        Mail.objects.bulk_create(mails, ignore_conflicts=True)


def deliver() -> bool:
    """Sends the e-mail that has been due for the longest time; whether to go on with the next."""
    mail = Mail.objects.filter(due_at__lte=timezone.now()).order_by("due_at", "pk").first()
    if mail is None or settings.ON_LAPTOP or not available():
        return False
    row = Mail.objects.filter(pk=mail.pk)
    if not row.filter(due_at=mail.due_at).update(due_at=timezone.now() + RETRY):
        return True  # another process has it
    try:
        if mail.to:
            send_mail(" ".join(mail.subject.split()), mail.text, None, [mail.to])
    except Exception as exc:
        # Not its text: a mail server may quote what it refuses.
        code = getattr(exc, "smtp_code", "")
        logger.error("An e-mail was not sent: %s %s", type(exc).__name__, code)
        return False
    row.filter(about="").delete()
    row.update(due_at=None, text="")
    return True


def send_for_ever() -> None:
    while True:
        try:
            while deliver():
                pass
        except Exception as exc:  # the database is out of reach
            logger.error("E-mails wait: %s", first_line(exc))
        close_old_connections()
        time.sleep(EVERY)


def purge() -> None:
    """Deletes e-mails that could not be sent for a day, and what prevents repeated ones."""
    now = timezone.now()
    waiting = Q(due_at__isnull=False, created_at__lt=now - KEEP_TRYING)
    Mail.objects.filter(waiting | Q(created_at__lt=now - KEEP_ABOUT)).delete()
