"""E-mails: what the process that sends them does, once."""

from typing import Any

from django.core import mail

from workspaces.mails import kinds, queue


def sent() -> list[Any]:
    """Adds e-mails about new audit entries and sends those that are due; all of the test."""
    kinds.notify_of_log()
    while queue.deliver():
        pass
    return mail.outbox


def arrived() -> list[tuple[str, str]]:
    """The address and the subject of each e-mail that is sent now, sorted."""
    mail.outbox.clear()
    return sorted((each.to[0], each.subject) for each in sent())
