"""What pages warn of: a workspace whose keys are refused, keys with problems."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from apikeys.models import ApiKey
from apikeys.usage.report import refused_in_a_day
from config.console.formatting import Bad
from workspaces.api_access import access_warning
from workspaces.models import Workspace

MOST = 5  # warnings of each kind
RECENTLY = timedelta(minutes=5)


def sentence(name: str, **context: Any) -> SafeString:
    """HTML: a sentence or two, which have a template of their own."""
    context = {"upgrade_url": settings.UPGRADE_URL, "email": settings.SUPPORT_EMAIL, **context}
    return SafeString(render_to_string(f"admin/apikeys/texts/{name}.html", context).strip())


def refusals(workspace: Workspace) -> list[str]:
    """Why the keys of the workspace are refused, if they are."""
    why = access_warning(workspace)
    return [Bad(sentence("refused", why=why, workspace=workspace))] if why else []


def health(workspace: Workspace) -> dict[str, list[str]]:
    """For the start page and above the list of keys."""
    keys = ApiKey.objects.filter(workspace=workspace).order_by("expires_at", "-created_at")
    refused = refused_in_a_day().filter(workspace_id=workspace.pk)
    ended = keys.filter(pk__in=refused.filter(status=401).values("key_id"))
    limited = keys.filter(pk__in=refused.filter(status=429).values("key_id"))
    failed = refused.filter(status__gte=500, last_at__gte=timezone.now() - RECENTLY)
    last = failed.order_by("-last_at")[:1]
    return {
        "API access": refusals(workspace),
        "responses of the last 5 minutes": [Bad(sentence("failed", row=row)) for row in last],
        "keys that have ended": [Bad(sentence("still_used", key=key)) for key in ended[:MOST]],
        "rate limit": [sentence("limited", key=key) for key in limited[:MOST]],
        "expiry of keys": [sentence("expires", key=key) for key in keys.expiring()[:MOST]],
    }
