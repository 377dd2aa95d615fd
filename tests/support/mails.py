"""E-mails: what the process that sends them does, once."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.core import mail

from workspaces.mails import kinds, queue


def sent() -> list[Any]:
    """Tells of what the audit log has, and sends what is due; all e-mails of the test."""
    kinds.tell_of_log()
    while async_to_sync(queue.deliver)(_in_database):
        pass
    return mail.outbox


async def _in_database(call: Callable[..., Any], *args: Any) -> Any:
    return await sync_to_async(call)(*args)


def arrived() -> list[tuple[str, str]]:
    """The address and the subject of each e-mail that is sent now, sorted."""
    mail.outbox.clear()
    return sorted((each.to[0], each.subject) for each in sent())
