"""E-mails, sent in the background: no page waits for the mail server.

How long a response takes says nothing about whether an e-mail was sent.
"""

import contextvars
import logging
import threading
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)

MOST = 8  # e-mails that a process sends at once; each waits up to EMAIL_TIMEOUT for each response
_slots = threading.BoundedSemaphore(MOST)


def available() -> bool:
    """Whether the service has a mail server (EMAIL_URL)."""
    return bool(settings.EMAIL_HOST)


def send(subject: str, template: str, context: Mapping[str, Any], to: str) -> bool:
    """Sends an e-mail in plain text, in a thread of its own.

    Args:
        template: of the text. It is rendered in the thread, so it must not query the database.
        to: the recipient's address.

    Returns:
        Whether it is on its way: False without a mail server, or while that is too slow for more.
        Later failures are only in the log, without the text, which may have a secret link.
    """
    if not available():
        return False
    if not _slots.acquire(blocking=False):
        logger.error("An e-mail was not sent: %d others are still being sent", MOST)
        return False
    run = contextvars.copy_context().run  # the log's lines have the request's id
    threading.Thread(
        target=run, args=(_send, subject, template, dict(context), to), name="mail", daemon=True
    ).start()
    return True


def _send(subject: str, template: str, context: dict[str, Any], to: str) -> None:
    try:
        text = render_to_string(template, context)
        EmailMessage(" ".join(subject.split()), text, to=[to]).send()
    except Exception as exc:
        # Not its text: a mail server may quote what it refuses.
        code = getattr(exc, "smtp_code", "")
        logger.error("An e-mail was not sent: %s %s", type(exc).__name__, code)
    finally:
        _slots.release()
