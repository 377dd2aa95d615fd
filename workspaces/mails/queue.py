"""The queue of e-mails: pages add to it, and the process that delivers webhooks sends.

So no page waits for the mail server, and an e-mail outlives any process. One that is killed between
sending an e-mail and deleting its row leads to a second e-mail, never to none.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import groupby
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import connection as default_connection
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.template.loader import render_to_string
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from config.console.system import Fact
from workspaces.mails import unsubscribing
from workspaces.mails.models import Mail

logger = logging.getLogger(__name__)

AT_ONCE = 8
ATTEMPT_SECONDS = 30  # for an e-mail; EMAIL_TIMEOUT is for each response of the mail server
LEASE = timedelta(minutes=2)  # until an attempt whose process was killed is made again
LONGEST_WAIT = 15  # minutes between two attempts
KEEP_TRYING = timedelta(days=1)
LATE_SECONDS = 600
_OVERDUE = """
    SELECT coalesce(extract(epoch FROM statement_timestamp() - min(planned_at)), 0)::float8
    FROM mails_mail WHERE planned_at <= statement_timestamp()
"""
_threads = ThreadPoolExecutor(AT_ONCE, "mail")

Group = list[Mail]  # one e-mail: several rows are a daily one
InDatabase = Callable[..., Awaitable[Any]]


def available() -> bool:
    """Whether the service has a mail server (EMAIL_URL)."""
    return bool(settings.EMAIL_HOST)


def send(subject: str, template: str, context: Mapping[str, Any], to: str) -> None:
    """Adds an e-mail that nobody can choose not to get, with the caller's transaction.

    Without a mail server it does nothing.

    Args:
        template: of its text.
        to: the recipient's address.
    """
    if available():
        text = render_to_string(template, dict(context)).strip()
        Mail.objects.create(to=to, subject=" ".join(subject.split()), text=text)


async def deliver(in_database: InDatabase) -> bool:
    """Sends what is due, a few e-mails at once; whether there may be more."""
    groups: list[Group] = await in_database(claim)
    errors = await asyncio.gather(*map(_attempt, groups))
    if groups:
        await in_database(save, list(zip(groups, errors, strict=True)))
    return bool(groups)


async def _attempt(group: Group) -> str:
    """Sends an e-mail; returns the error, "" without one."""
    sending = asyncio.get_running_loop().run_in_executor(_threads, post, group)
    try:
        await asyncio.wait_for(sending, ATTEMPT_SECONDS)
    except Exception as exc:
        # Not its text: a mail server may quote what it refuses.
        return f"{type(exc).__name__} {getattr(exc, 'smtp_code', '')}".strip()
    return ""


@transaction.atomic
def claim() -> list[Group]:
    """The e-mails that are due. Nobody else claims them until an attempt must have ended."""
    now = timezone.now()
    due = Mail.objects.select_for_update(skip_locked=True).filter(due_at__lte=now)
    rows = list(due.order_by("due_at", "pk")[:AT_ONCE])
    users = {row.user_id for row in rows if row.daily}
    rows += due.filter(daily=True, user__in=users).exclude(pk__in=[row.pk for row in rows])
    for row in rows:
        row.attempts += 1
        row.due_at = now + LEASE
    Mail.objects.bulk_update(rows, ["attempts", "due_at"])

    def together(row: Mail) -> tuple[bool, int]:
        return row.daily, row.user_id if row.daily and row.user_id else row.pk

    return [list(group) for _, group in groupby(sorted(rows, key=together), together)]


def post(group: Group) -> None:
    """Sends one e-mail, as text and as HTML."""
    first = group[0]
    subject = f"{len(group)} messages of the last day" if len(group) > 1 else first.subject
    off_url = unsubscribing.url(first.user_id, {row.kind for row in group})
    context = {"mails": group, "off_url": off_url, "base": settings.BASE_URL}
    headers = {}
    if off_url:  # RFC 8058
        headers["List-Unsubscribe"] = f"<{off_url}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    text, html = (render_to_string(f"mails/mail.{end}", context) for end in ("txt", "html"))
    message = EmailMultiAlternatives(subject, text, to=[first.to], headers=headers)
    message.attach_alternative(html, "text/html")
    message.send()


@transaction.atomic
def save(results: Iterable[tuple[Group, str]]) -> None:
    """Deletes what was sent or has failed for a day; other failures wait for the next attempt."""
    now = timezone.now()
    for group, error in results:
        rows = Mail.objects.filter(pk__in=[row.pk for row in group])
        over = group[0].planned_at < now - KEEP_TRYING
        if error:
            logger.error("An e-mail was not sent%s: %s", " and is given up" if over else "", error)
        if over or not error:
            rows.delete()
        else:
            wait = timedelta(minutes=min(LONGEST_WAIT, 2 ** min(group[0].attempts - 1, 9)))
            rows.update(due_at=now + wait, error=error)


def overdue_seconds(connection: BaseDatabaseWrapper = default_connection) -> float:
    """How long the oldest e-mail that should have been sent has waited."""
    with connection.cursor() as cursor:
        cursor.execute(_OVERDUE)
        return float(cursor.fetchone()[0])


def read_facts() -> list[Fact]:
    """Whether e-mails are sent (`config.console.system`)."""
    late = overdue_seconds()
    remedy = "Look at: journalctl -u 'documents-api-webhooks@*'; see E-mail in docs/reference.md"
    state = "bad" if late > LATE_SECONDS else "ok"
    return [Fact("The oldest one that waits", f"{late:,.0f} s" if late else "none", state, remedy)]


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """The same for Prometheus; each process reads it from the database."""
    text = "How long the oldest e-mail that should have been sent has waited"
    yield GaugeMetricFamily("documents_mails_overdue_seconds", text, overdue_seconds(connection))
