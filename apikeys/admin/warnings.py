"""What pages warn of: a workspace whose keys are refused, keys with problems."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Max, Sum
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from apikeys.keys import today
from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.console.formatting import Bad
from workspaces.api_access import access_warning
from workspaces.models import Workspace

MOST = 5  # warnings of each kind


def sentence(name: str, **context: Any) -> SafeString:
    """HTML: a sentence or two, which have a template of their own."""
    context = {"upgrade_url": settings.UPGRADE_URL, "email": settings.SUPPORT_EMAIL, **context}
    return SafeString(render_to_string(f"admin/apikeys/texts/{name}.html", context).strip())


def refusal_warning(workspace: Workspace) -> SafeString:
    why = access_warning(workspace)
    return sentence("refused", why=why, workspace=workspace) if why else SafeString("")


def health(workspace: Workspace) -> dict[str, list[str]]:
    """For the start page and above the list of keys."""
    refused = refusal_warning(workspace)
    return {
        "API access": [Bad(refused)] if refused else [],
        "keys that have ended": list(still_used(workspace)),
        "rate limit": list(over_the_limit(workspace)),
        "expiry of keys": list(expire_soon(workspace)),
    }


def still_used(workspace: Workspace) -> Iterator[str]:
    rows = RefusedRequest.objects.filter(
        workspace_id=workspace.pk,
        created_at__gte=timezone.now() - timedelta(days=1),
        status=401,
        key_id__in=ApiKey.objects.filter(workspace=workspace).values("pk"),  # not deleted
    )
    sums = rows.values_list("key_id", "key_name", "key_prefix").annotate(
        sent=Sum(F("requests") + F("others")), last=Max("last_at")
    )
    for id, name, prefix, requests, last in sums.order_by("-last")[:MOST]:
        key = ApiKey(id=id, name=name, prefix=prefix)
        yield Bad(sentence("still_used", key=key, requests=requests, last=last))


def over_the_limit(workspace: Workspace) -> Iterator[str]:
    """The keys that were over their limit today; first those with most."""
    rows = KeyUsage.objects.filter(day=today(), limited__gt=0, workspace_id=workspace.pk)
    limited = dict(rows.order_by("-limited").values_list("key_id", "limited")[:MOST])
    keys = ApiKey.objects.in_bulk(list(limited))
    for key_id, requests in limited.items():
        if key := keys.get(key_id):
            yield sentence("limited", key=key, requests=requests)


def expire_soon(workspace: Workspace) -> Iterator[str]:
    expiring = ApiKey.objects.expiring().filter(workspace=workspace)
    for key in expiring.order_by("expires_at")[:MOST]:
        yield sentence("expires", key=key)
