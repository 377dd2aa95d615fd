"""E-mails about keys: what no audit entry says is found here now and then."""

from django.urls import reverse
from django.utils import timezone

from apikeys.keys import ENDED
from apikeys.models import ApiKey, minute
from apikeys.usage.models import RefusedRequest
from config.api.errors import InvalidKey
from workspaces.mails.kinds import LOOK_BACK, notify


def notify_of_keys() -> None:
    """Adds e-mails to the admins of the workspaces: each about a key and a reason once."""
    keys, since = ApiKey.objects.select_related("workspace"), timezone.now() - LOOK_BACK
    for key in keys.filter(pk__in=ApiKey.objects.expiring()):
        _notify("key_expiring", key, "A key expires soon", minute(key.expires_at or since))
    refused = RefusedRequest.objects.filter(
        status=401, key_id__isnull=False, cause=InvalidKey.code, created_at__gte=since
    )
    for key in keys.filter(ENDED, pk__in=refused.values("key_id")):
        _notify("key_ended", key, "A key that has ended is used", key.state.label)


def _notify(slug: str, key: ApiKey, title: str, detail: str) -> None:
    facts = {"Workspace": key.workspace.name, "Key": str(key), "Detail": detail}
    path = reverse("admin:apikeys_apikey_change", args=[key.pk])
    once = f"{slug} {key.pk} {detail}"
    notify(slug, once, key.workspace_id, f"{title}: {key.name}", facts, path)
