"""E-mails about keys: what no audit entry says is found here now and then."""

from collections import defaultdict
from datetime import timedelta
from ipaddress import ip_address, ip_network
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from apikeys.managers import minute
from apikeys.models import ApiKey
from apikeys.usage.models import KeyAddress, RefusedRequest
from config.api.errors import InvalidKey
from workspaces.mails import kinds

LOOK_BACK = timedelta(days=1)


def tell_of_keys() -> None:
    """Adds e-mails to the admins of the workspaces: each about a key and a reason once."""
    for key in ApiKey.objects.expiring().select_related("workspace"):
        if key.expires_at:
            _tell("key_expiring", key, "A key expires soon", "Expires", minute(key.expires_at))
    for key, refused in _ended_and_used():
        text = f"{minute(refused.created_at)}, from {refused.address}"
        _tell("key_ended", key, f"A key that is {key.state.label.lower()} is used", "Last", text)
    for key, networks in _from_new_networks():
        for network in sorted(networks):
            title = "A key is used from a new network"
            _tell("key_network", key, title, "Network", network, once=network)


def _tell(slug: str, key: ApiKey, title: str, name: str, value: str, *, once: str = "") -> None:
    kinds.tell(
        slug,
        f"{slug} {key.pk} {once}",
        kinds.readers(key.workspace_id),
        f"{title}: {key.name}",
        {"Workspace": key.workspace.name, "Key": str(key), name: value},
        reverse("admin:apikeys_apikey_change", args=[key.pk]),
    )


def _ended_and_used() -> list[tuple[ApiKey, RefusedRequest]]:
    """Revoked and expired keys that were refused lately, each with the newest refusal."""
    rows = RefusedRequest.objects.filter(
        status=401,
        key_id__isnull=False,
        cause=InvalidKey.code,
        created_at__gte=timezone.now() - LOOK_BACK,
    )
    newest = {row.key_id: row for row in rows.order_by("key_id", "-created_at").distinct("key_id")}
    keys = ApiKey.objects.filter(pk__in=[id for id in newest if id]).select_related("workspace")
    return [(key, newest[key.pk]) for key in keys if key.state.has_ended]


def _from_new_networks() -> list[tuple[ApiKey, set[str]]]:
    """Keys with the networks that they were used from lately for the first time, but for the first
    one of each key."""
    since = timezone.now() - LOOK_BACK
    used = KeyAddress.objects.filter(first_seen__gte=since).values("key_id")
    networks: defaultdict[UUID, dict[str, bool]] = defaultdict(dict)  # with whether it is new
    for row in KeyAddress.objects.filter(key_id__in=used).order_by("key_id", "first_seen"):
        seen = networks[row.key_id]
        seen.setdefault(_network(row.address), bool(seen) and row.first_seen >= since)
    keys = ApiKey.objects.filter(pk__in=list(networks)).select_related("workspace")
    return [(key, {name for name, new in networks[key.pk].items() if new}) for key in keys]


def _network(address: str) -> str:
    """What usually belongs to one place: 256 addresses of IPv4, a /48 of IPv6."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((parsed.packed, 24 if parsed.version == 4 else 48), strict=False))
