"""E-mails: what the process that sends them does, once."""

from typing import Any

from django.core import mail

from workspaces.mails import kinds, queue


def sent() -> list[Any]:
    """Tells of what the audit log has, and sends what is due; all e-mails of the test."""
    kinds.tell_of_log()
    while queue.deliver():
        pass
    return mail.outbox


def arrived() -> list[tuple[str, str]]:
    """The address and the subject of each e-mail that is sent now, sorted."""
    mail.outbox.clear()
    return sorted((each.to[0], each.subject) for each in sent())
