from django.conf import settings
from django.core.checks import Debug, Info, Warning  # noqa: A004
from django.utils import timezone
from django.utils.timesince import timesince

from config.checks import DATABASE, EMAILS, HOUSEKEEPING, Found, asks_service, look_at
from workspaces import mails
from workspaces.models import Mail


@asks_service(EMAILS, "workspaces.001", hint=DATABASE)
def emails() -> Found:
    """How long the oldest has waited since it was added: a failed attempt makes it due later."""
    waiting = Mail.objects.filter(due_at__isnull=False).order_by("created_at")
    if settings.ON_LAPTOP:
        yield Debug("None leaves the laptop: they are in its mailbox.")
    elif not mails.available():
        yield Debug("None is sent: `EMAIL_URL` names no mail server.")
    elif oldest := waiting.first():
        late = timezone.now() - oldest.created_at > mails.RETRY
        longest = timesince(oldest.created_at, depth=1)
        text = f"{waiting.count():,} to be sent; the oldest has waited for {longest}."
        hint = f"Check `EMAIL_URL` and the mail server. {look_at(HOUSEKEEPING)}"
        yield (Warning if late else Info)(text, hint=hint)
    else:
        yield Info("None waits to be sent.")
