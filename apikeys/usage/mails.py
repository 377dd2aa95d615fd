"""E-mails about keys: what no audit entry says is found here now and then."""

from collections import defaultdict
from ipaddress import ip_address, ip_network
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from apikeys.models import ApiKey, minute
from apikeys.states import ENDED
from apikeys.usage.models import KeyAddress, RefusedRequest
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
    known: defaultdict[UUID, set[str]] = defaultdict(set)
    used = KeyAddress.objects.filter(first_seen__gte=since).values("key_id")
    for row in KeyAddress.objects.filter(key_id__in=used).order_by("first_seen"):
        seen, network = known[row.key_id], _network(row.address)
        if seen and network not in seen and row.first_seen >= since:
            for key in keys.filter(pk=row.key_id):
                _notify("key_network", key, "A key is used from a new network", network)
        seen.add(network)


def _notify(slug: str, key: ApiKey, title: str, detail: str) -> None:
    facts = {"Workspace": key.workspace.name, "Key": str(key), "Detail": detail}
    path = reverse("admin:apikeys_apikey_change", args=[key.pk])
    once = f"{slug} {key.pk} {detail}"
    notify(slug, once, key.workspace_id, f"{title}: {key.name}", facts, path)


def _network(address: str) -> str:
    """What usually belongs to one place: 256 addresses of IPv4, a /48 of IPv6."""
    try:
        return str(ip_network((address, 48 if ip_address(address).version == 6 else 24), False))
    except ValueError:
        return address
