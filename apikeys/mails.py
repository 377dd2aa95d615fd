"""E-mails about keys, which `housekeeping` finds: they expire soon, or have ended and are used."""

from datetime import timedelta

from django.utils import timezone

from apikeys.keys import ENDED
from apikeys.models import ApiKey, minute
from apikeys.usage.models import RefusedRequest
from workspaces.mails import tell_admins


def notify_of_keys() -> None:
    """Adds e-mails to the admins of the workspaces, about each key once."""
    keys, day = ApiKey.objects.select_related("workspace"), timezone.now() - timedelta(days=1)
    for key in keys.filter(pk__in=ApiKey.objects.expiring()):
        when = minute(key.expires_at) if key.expires_at else ""
        _tell(key, "A key expires soon", f"{key} expires on {when}. Roll it before, or let it end.")
    refused = RefusedRequest.objects.filter(status=401, created_at__gte=day)
    for key in keys.filter(ENDED, pk__in=refused.values("key_id")):
        text = f"{key}: {key.state.label}. A program still sends it, and is refused."
        _tell(key, "A key that has ended is used", text)


def _tell(key: ApiKey, what: str, text: str) -> None:
    tell_admins(key.workspace, f"{what}: {key.name}", text, key, about=f"{what} {key.pk}")
