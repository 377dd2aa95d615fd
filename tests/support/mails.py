"""E-mails: what the process that sends them does, once."""

from typing import Any

from django.core import mail

from workspaces import mails


def sent() -> list[Any]:
    """Sends the e-mails that are due; all of the test."""
    while mails.deliver():
        pass
    return mail.outbox


def arrived() -> list[tuple[str, str]]:
    """The address and the subject of each e-mail that is sent now, sorted."""
    mail.outbox.clear()
    return sorted((each.to[0], each.subject) for each in sent())
