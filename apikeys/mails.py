"""E-mails about keys that expire soon, and about ended keys that a program still sends."""

from datetime import timedelta

from django.utils import timezone

from apikeys.keys import ENDED
from apikeys.models import ApiKey, minute
from apikeys.usage.models import RefusedRequest
from workspaces.mails import tell_admins


def notify_of_keys() -> None:
    """For `housekeeping`. Admins get each e-mail once."""
    keys = ApiKey.objects.select_related("workspace")
    for key in keys.filter(pk__in=ApiKey.objects.expiring()):
        when = minute(key.expires_at) if key.expires_at else ""
        _tell(key, "A key expires soon", f"{key} expires on {when}. Roll it before, or let it end.")
    since = timezone.now() - timedelta(days=1)
    refused = RefusedRequest.objects.filter(status=401, created_at__gte=since)
    for key in keys.filter(ENDED, pk__in=refused.values("key_id")):
        text = f"{key} of {key.workspace}: {key.state.label}. Give its program another key."
        _tell(key, "A key that has ended is used", text)


def _tell(key: ApiKey, what: str, text: str) -> None:
    tell_admins(key.workspace, f"{what}: {key}", text, key, about=f"{what} {key.pk}")
