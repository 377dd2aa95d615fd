"""The queue of e-mails. A page adds one to it, and does not wait for the mail server.

A process that is killed between sending an e-mail and deleting its row leads to a second e-mail,
never to none.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.core.signing import dumps
from django.db import transaction
from django.db.models import F
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from workspaces.mails.models import Mail

logger = logging.getLogger(__name__)

AT_ONCE = 8
ATTEMPT_SECONDS = 30  # for an e-mail; EMAIL_TIMEOUT is for each response of the mail server
LEASE = timedelta(minutes=5)  # until an attempt whose process was killed is made again
MOST_DOUBLINGS = 4  # of the minute between two attempts
KEEP_TRYING = timedelta(days=1)
_threads = ThreadPoolExecutor(AT_ONCE, "mail")


def available() -> bool:
    """Whether the service has a mail server (EMAIL_URL)."""
    return bool(settings.EMAIL_HOST)


def send(subject: str, template: str, context: Mapping[str, Any], to: str) -> None:
    """Adds an e-mail that nobody can choose not to get, if there is a mail server.

    It is in the caller's transaction.

    Args:
        to: "" for nobody: it is added and never sent.
    """
    if available():
        text = render_to_string(template, dict(context)).strip()
        Mail.objects.create(to=to, subject=" ".join(subject.split()), text=text)


def deliver() -> bool:
    """Sends what is due, a few e-mails at once; whether there may be more."""
    attempts = [(group, _threads.submit(post, group)) for group in claim()]
    for group, attempt in attempts:
        error = ""
        try:
            attempt.result(ATTEMPT_SECONDS)
        except Exception as exc:
            # Not its text: a mail server may quote what it refuses.
            error = f"{type(exc).__name__} {getattr(exc, 'smtp_code', '')}".strip()
        _save(group, error)
    return bool(attempts)


@transaction.atomic
def claim() -> list[list[Mail]]:
    """Takes the e-mails that are due, for as long as an attempt may last; of each its rows."""
    due = Mail.objects.select_for_update(skip_locked=True).filter(due_at__lte=timezone.now())
    rows = list(due.order_by("due_at", "pk")[:AT_ONCE])
    users = {row.user_id for row in rows if row.daily}
    rows += due.filter(daily=True, user__in=users).exclude(pk__in=[row.pk for row in rows])
    claimed = Mail.objects.filter(pk__in=[row.pk for row in rows])
    claimed.update(attempts=F("attempts") + 1, due_at=timezone.now() + LEASE)
    groups = defaultdict(list)
    for row in rows:
        groups[f"daily {row.user_id}" if row.daily else row.pk].append(row)
    return list(groups.values())


def post(group: list[Mail]) -> None:
    """Sends one e-mail, as text and as HTML."""
    first, headers, off_url = group[0], {}, ""
    if not first.to:
        return
    subject = f"{len(group)} messages of the last day" if len(group) > 1 else first.subject
    if first.user_id and settings.BASE_URL:  # otherwise nothing says where links lead
        token = dumps([first.user_id, *sorted({row.kind for row in group})], salt="mails off")
        query = urlencode({"token": token})
        off_url = f"{settings.BASE_URL}{reverse('admin:mails_off')}?{query}"
        headers["List-Unsubscribe"] = f"<{off_url}>"  # with the other, RFC 8058
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    context = {"mails": group, "off_url": off_url, "base": settings.BASE_URL}
    text, html = (render_to_string(f"mails/mail.{end}", context) for end in ("txt", "html"))
    message = EmailMultiAlternatives(subject, text, to=[first.to], headers=headers)
    message.attach_alternative(html, "text/html")
    message.send()


def _save(group: list[Mail], error: str) -> None:
    """Deletes what was sent or has failed for a day; other failures wait for the next attempt."""
    now = timezone.now()
    rows = Mail.objects.filter(pk__in=[row.pk for row in group])
    over = group[0].planned_at < now - KEEP_TRYING
    if error:
        logger.error("An e-mail was not sent%s: %s", " and is given up" if over else "", error)
    if over or not error:
        rows.delete()
    else:
        minutes = 2 ** min(group[0].attempts, MOST_DOUBLINGS)
        rows.update(due_at=now + timedelta(minutes=minutes), error=error)
